"""Labels out: CSV, JSON, and Label Studio's JSON, for teams that use it already. The way back is `incoming`."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

from kagemusha.annotation.agreement import by_task, standing
from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Said, Store

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What makes a spreadsheet take a text for a formula."""

HEAD = ("task", "round", "who", "answer", "stands", "settles")
"""Columns of our CSV before those of the record; with times, `when` comes before them all."""

FROM, TO = "label", "text"
"""Names of control and object in Label Studio."""


def to_csv(store: Store, *, times: bool = False) -> str:
    """One row per label: who, what, the record, and when, if asked.

    Texts that a spreadsheet would run begin with an apostrophe.
    """
    classes = store.fact("project", {})["classes"]
    said = store.said()
    columns = [cell["column"] for cell in said[0].shown] if said else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(["when"] if times else []), *HEAD, *map(safe, columns)])
    for task, labels in by_task(said).items():
        stands = standing(labels)
        for one in labels:
            row = [task, one.round, safe(one.who), safe(word(one.answer, classes)), safe(word(stands, classes))]
            when = [datetime.fromtimestamp(one.at, UTC).isoformat(timespec="seconds")] if times else []
            row.append("yes" if one.final else "")
            writer.writerow([*when, *row, *(safe(str(cell["value"])) for cell in one.shown)])
    return out.getvalue()


def to_json(store: Store) -> str:
    """Everything about every label."""
    project = store.fact("project", {})
    labels = [
        {
            "task": one.task,
            "round": one.round,
            "who": one.who,
            "answer": word(one.answer, project["classes"]),
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
    """Tasks as Label Studio imports them, made for its text classification.

    Labelled ones, and those that wait for a label.
    """
    classes = store.fact("project", {})["classes"]
    said = by_task(store.said())
    records = {task: labels[0].shown for task, labels in said.items()}
    records |= {task.id: task.shown for task in store.waiting()}
    tasks = [
        {
            "data": {TO: as_text(shown), "kagemusha_task": task},
            "annotations": [_annotation(one, classes) for one in said.get(task, ())],
        }
        for task, shown in sorted(records.items())
    ]
    return json.dumps(tasks, indent=1)


def label_studio_config(classes: list[str]) -> str:
    """The labelling set-up that fits our export, for Label Studio's settings page."""
    from xml.sax.saxutils import quoteattr

    words = [*classes, UNKNOWN, IMPOSSIBLE]
    choices = "\n".join(f"    <Choice value={quoteattr(word)}/>" for word in words)
    return (
        f'<View>\n  <Text name="{TO}" value="${TO}"/>\n  <Choices name="{FROM}" toName="{TO}" '
        f'choice="single">\n{choices}\n'
        "  </Choices>\n</View>\n"
    )


def as_text(shown: list[dict[str, Any]]) -> str:
    """A record in lines."""
    return "\n".join(f"{cell['column']}: {cell['value']}" for cell in shown)


def _annotation(one: Said, classes: list[str]) -> dict[str, Any]:
    value = {"choices": [word(one.answer, classes)]}
    # of an annotation, Label Studio keeps the result and who imported it; a result may carry a remark, which holds the
    # name
    made = {"from_name": FROM, "to_name": TO, "type": "choices", "value": value, "meta": {"text": [one.who]}}
    return {"result": [made], "was_cancelled": False, "ground_truth": one.final}


def word(answer: str | None, classes: list[str]) -> str:
    """An answer as people know it: the name of its class."""
    return "" if answer is None else str(classes[int(answer)]) if answer.isdigit() else answer


def safe(text: str) -> str:
    """A text no spreadsheet runs; taking one apostrophe away gives it back. Numbers stay as they are."""
    if text.lstrip("'").startswith(FORMULA) and not _is_number(text):
        return "'" + text
    return text


def plain(text: str) -> str:
    """What `safe` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
