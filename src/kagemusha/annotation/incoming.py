"""Labels that come back: our own CSV and JSON, and Label Studio's JSON.

Every label is checked against the record it names.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from typing import Any

from kagemusha.annotation.exchange import HEAD, as_text, plain
from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Store
from kagemusha.errors import DataError, UsageError

MOST_NAME = 60


@dataclass(frozen=True)
class _Incoming:
    """One label somebody gave elsewhere."""

    task: int
    who: str
    word: str
    record: str
    """The record as text, to be sure that both sides speak of the same."""
    mark: str = ""
    """Tells labels apart that are otherwise alike."""
    settles: bool = False


def take_labels(store: Store, text: str) -> int:
    """Labels from a file, whichever of the three forms it has; returns how many were new.

    A file is taken whole or not at all: a label with an unknown class, or for a record that is another one in this
    project, is a DataError before anything is written. Labels that are here already change nothing.
    """
    found = _read(text)
    classes: list[str] = store.fact("project", {})["classes"]
    shown = {task: as_text(cells) for task, cells in store.records().items()}
    for one in found:
        if one.task not in shown:
            raise DataError(f"record {one.task} is not in this project")
        if one.record != shown[one.task]:
            raise DataError(f"record {one.task} is another one in this project: the file belongs to a different one")
        if one.word not in (*classes, UNKNOWN, IMPOSSIBLE):
            raise DataError(f"a label of record {one.task} is none of the classes")
    return sum(_keep(store, one, classes) for one in found)


def _keep(store: Store, one: _Incoming, classes: list[str]) -> bool:
    answer = str(classes.index(one.word)) if one.word in classes else one.word
    key = hashlib.sha256(f"{one.task} {one.who} {answer} {one.mark}".encode("utf-8", "surrogatepass")).hexdigest()[:40]
    if one.settles:
        settled = [said.answer for said in store.said(records=False) if said.task == one.task and said.final]
        return settled[-1:] != [answer] and store.settle(one.task, one.who, answer, key)
    try:
        return store.label(one.task, one.who, answer, key, queued=False)
    except UsageError:
        return False  # the same person has said so before


def _read(text: str) -> list[_Incoming]:
    text = text.removeprefix("\ufeff")
    try:
        found = json.loads(text)
    except ValueError:
        return _from_csv(text)
    try:
        if isinstance(found, dict) and "labels" in found:
            return _from_json(found["labels"])
        if isinstance(found, list):
            return _from_label_studio(found)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        pass
    raise DataError("neither our JSON (an object with labels) nor an export of Label Studio (a list) with our tasks")


def _from_json(labels: Any) -> list[_Incoming]:
    return [
        _Incoming(
            int(one["task"]),
            _name(one["who"]),
            str(one["answer"]),
            "\n".join(f"{name}: {value}" for name, value in one["record"].items()),
            settles=bool(one.get("settles")),
        )
        for one in labels
    ]


def _from_csv(text: str) -> list[_Incoming]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        head = rows[0] if rows else []
        if head[:1] == ["when"]:
            rows = [row[1:] for row in rows]
            head = rows[0]
        if head[: len(HEAD)] != list(HEAD) or any(len(row) != len(head) for row in rows[1:]):
            raise ValueError
        names = [plain(name) for name in head[len(HEAD) :]]
        return [
            _Incoming(
                int(row[0]),
                _name(plain(row[2])),
                plain(row[3]),
                "\n".join(f"{name}: {plain(value)}" for name, value in zip(names, row[len(HEAD) :], strict=True)),
                settles=row[5] == "yes",
            )
            for row in rows[1:]
        ]
    except (ValueError, csv.Error):
        raise DataError("not a file of labels: our CSV begins with task, round, who, answer, stands, settles") from None


def _from_label_studio(tasks: list[Any]) -> list[_Incoming]:
    found = []
    for task in tasks:
        data = task["data"]
        for annotation in task.get("annotations") or ():
            chosen = _choice(annotation)
            if chosen is not None and not annotation.get("was_cancelled"):
                who, mark = _annotator(annotation), str(annotation.get("id", ""))
                number = int(data["kagemusha_task"])
                found.append(
                    _Incoming(number, who, chosen, str(data["text"]), mark, bool(annotation.get("ground_truth")))
                )
    return found


def _choice(annotation: dict[str, Any]) -> str | None:
    for part in annotation.get("result") or ():
        if part.get("type") == "choices" and part["value"].get("choices"):
            return str(part["value"]["choices"][0])
    return None


def _annotator(annotation: dict[str, Any]) -> str:
    """Whom we wrote into the result when we exported it, or else the account that made the annotation."""
    for part in annotation.get("result") or ():
        kept = (part.get("meta") or {}).get("text") if isinstance(part.get("meta"), dict) else None
        if kept:
            return _name(kept[0] if isinstance(kept, list) else kept)
    by = annotation.get("completed_by", "")
    return _name(f"Label Studio {by.get('email') or by.get('id') if isinstance(by, dict) else by}")


def _name(text: Any) -> str:
    """A name as the store keeps it: one short line of printable characters."""
    shown = "".join(c if c.isprintable() else " " for c in " ".join(str(text).split()))
    return " ".join(shown.split())[:MOST_NAME] or "somebody"
