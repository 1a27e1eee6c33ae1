"""Labels out and in: CSV, JSON, and Label Studio's JSON, for teams that use it already."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from typing import Any

from kagemusha.annotation.agreement import by_task, standing
from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Said, Store
from kagemusha.errors import DataError, UsageError

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What makes a spreadsheet take a text for a formula."""

FROM, TO = "label", "text"
"""Names of control and object in Label Studio."""


def to_csv(store: Store) -> str:
    """One row a label: who, when, what, and the record. Texts that a spreadsheet would run begin with an apostrophe."""
    classes = store.fact("project", {})["classes"]
    said = store.said()
    columns = [cell["column"] for cell in said[0].shown] if said else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["task", "round", "who", "answer", "stands", *map(safe, columns)])
    for task, labels in by_task(said).items():
        stands = standing(labels)
        for one in labels:
            row = [task, one.round, safe(one.who), safe(_word(one.answer, classes)), safe(_word(stands, classes))]
            writer.writerow([*row, *(safe(str(cell["value"])) for cell in one.shown)])
    return out.getvalue()


def to_json(store: Store) -> str:
    """Everything about every label."""
    project = store.fact("project", {})
    labels = [
        {
            "task": one.task,
            "round": one.round,
            "who": one.who,
            "answer": _word(one.answer, project["classes"]),
            "settles": one.final,
            "held": one.held,
            "at": one.at,
            "codes": one.codes,
            "record": {cell["column"]: cell["value"] for cell in one.shown},
        }
        for one in store.said()
    ]
    return json.dumps({"question": project["question"], "classes": project["classes"], "labels": labels}, indent=1)


def to_label_studio(store: Store) -> str:
    """Tasks with their annotations, as Label Studio imports them; made for its text classification."""
    classes = store.fact("project", {})["classes"]
    tasks = [
        {
            "id": task,
            "data": {**_data(labels[0]), "kagemusha_task": task},
            "annotations": [_annotation(x, classes) for x in labels],
        }
        for task, labels in by_task(store.said()).items()
    ]
    return json.dumps(tasks, indent=1)


def label_studio_config(classes: list[str]) -> str:
    """The labelling set-up that fits our export, for Label Studio's settings page."""
    from xml.sax.saxutils import quoteattr

    words = [*classes, UNKNOWN, IMPOSSIBLE]
    choices = "\n".join(f"    <Choice value={quoteattr(word)}/>" for word in words)
    return (
        f'<View>\n  <Text name="{TO}" value="${TO}"/>\n  <Choices name="{FROM}" toName="{TO}" choice="single">\n{choices}\n'
        "  </Choices>\n</View>\n"
    )


def from_label_studio(store: Store, text: str) -> int:
    """Labels from Label Studio's JSON export, for tasks that we exported; returns how many were new."""
    classes = store.fact("project", {})["classes"]
    try:
        tasks = json.loads(text)
        found = [
            (int(task["data"]["kagemusha_task"]), annotation)
            for task in tasks
            for annotation in task.get("annotations", ())
            if not annotation.get("was_cancelled")
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError("not an export of Label Studio with our tasks (data.kagemusha_task is missing)") from None
    return sum(_take(store, task, annotation, classes) for task, annotation in found)


def _take(store: Store, task: int, annotation: dict[str, Any], classes: list[str]) -> bool:
    result = annotation.get("result") or []
    chosen = [r["value"]["choices"][0] for r in result if r.get("type") == "choices" and r["value"].get("choices")]
    if not chosen:
        return False
    if chosen[0] not in (*classes, UNKNOWN, IMPOSSIBLE):
        raise DataError(f"an annotation of task {task} has a choice that is none of the classes")
    answer = str(classes.index(chosen[0])) if chosen[0] in classes else chosen[0]
    who = _who(annotation)
    key = hashlib.sha256(f"{task} {who} {answer} {annotation.get('id')}".encode()).hexdigest()[:40]
    before = len(store.said())
    try:
        store.label(task, who, answer, key, queued=False)
    except UsageError:
        return False  # the same person has said so before
    return len(store.said()) > before


def _who(annotation: dict[str, Any]) -> str:
    by = annotation.get("completed_by", "")
    named = by.get("email") or by.get("id") if isinstance(by, dict) else by
    kept = (annotation.get("meta") or {}).get("who") if isinstance(annotation.get("meta"), dict) else None
    return str(kept or f"Label Studio {named}")[:60]


def _data(one: Said) -> dict[str, Any]:
    text = "\n".join(f"{cell['column']}: {cell['value']}" for cell in one.shown)
    return {TO: text, **{f"column_{i}": f"{c['column']}: {c['value']}" for i, c in enumerate(one.shown)}}


def _annotation(one: Said, classes: list[str]) -> dict[str, Any]:
    value = {"choices": [_word(one.answer, classes)]}
    return {
        "result": [{"from_name": FROM, "to_name": TO, "type": "choices", "value": value}],
        "was_cancelled": False,
        "ground_truth": one.final,
        "meta": {"who": one.who},
    }


def _word(answer: str | None, classes: list[str]) -> str:
    return "" if answer is None else str(classes[int(answer)]) if answer.isdigit() else answer


def safe(text: str) -> str:
    """A text no spreadsheet runs; taking one apostrophe away gives it back. Numbers stay as they are."""
    if text.lstrip("'").startswith(FORMULA) and not _is_number(text):
        return "'" + text
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
