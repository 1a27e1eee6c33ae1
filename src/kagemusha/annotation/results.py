"""What a labelling project leaves when both budgets are used up: labels, a classifier, and a page that sums them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.annotation.agreement import agreement, by_task, standing, usable
from kagemusha.annotation.classifier import Classifier, trained
from kagemusha.annotation.exchange import to_csv, word
from kagemusha.annotation.store import Said, Store
from kagemusha.annotation.store_desk import wilson
from kagemusha.files import write_whole
from kagemusha.pages import template
from kagemusha.schema import Schema
from kagemusha.schema.related import Related

LABELS, CLASSIFIER, SUMMARY = "labels.csv", "classifier.json", "summary.html"
PAUSE = 300.0
"""Seconds between two labels of a person that still count as work on the second."""


def write_results(
    store: Store, schema: Schema, folder: Path, *, promise: str = "", related: Related | None = None
) -> list[str]:
    """Write what there is; returns the names of the files.

    `schema` is that of the doubles, without the label; `related` says which tables they are persons of, if of several.
    """
    project = store.fact("project", {})
    classes: list[str] = project["classes"]
    said = store.said()
    write_whole(folder / LABELS, to_csv(store, times=True).encode())
    found = classifier_of(project["question"], classes, schema, said)
    if found is not None:
        replace(found, related=related).save(folder / CLASSIFIER)
    page = template("annotation", "summary.html").render(
        question=project["question"],
        rows=_facts(said, classes, found, promise),
        per_class=_per_class(said, classes),
        trained=found is not None,
    )
    write_whole(folder / SUMMARY, page.encode())
    return [LABELS, *([CLASSIFIER] if found is not None else []), SUMMARY]


def classifier_of(question: str, classes: Sequence[str], schema: Schema, said: Sequence[Said]) -> Classifier | None:
    """Trained on the doubles whose class stands and that were not held out; None before two classes were seen."""
    usables = usable(said, held=False)
    labels = np.array([int(answer) for _, answer in usables], dtype=np.int64)
    if len(np.unique(labels)) < 2:
        return None
    codes = np.array([codes for codes, _ in usables], dtype=np.int64)
    return trained(question, classes, schema, codes, labels)


def _per_class(said: Sequence[Said], classes: Sequence[str]) -> list[tuple[str, int]]:
    stands = Counter(word(standing(labels), list(classes)) or "not settled" for labels in by_task(said).values())
    return stands.most_common()


def _facts(
    said: Sequence[Said], classes: Sequence[str], found: Classifier | None, promise: str
) -> list[tuple[str, str]]:
    """Each line of the page: what, and how much."""
    people = sorted({one.who for one in said})
    facts = [
        ("labels given", f"{len(said):,}, of {len(by_task(said)):,} doubles"),
        ("by", f"{len(people)} {'person' if len(people) == 1 else 'people'}: {', '.join(people) or 'nobody yet'}"),
    ]
    held = usable(said, held=True)
    if found is not None and held:
        columns = list(np.array([codes for codes, _ in held], dtype=np.int64).T)
        predicted = found.of_codes(columns).argmax(axis=1)
        truth = np.array([int(answer) for _, answer in held])
        right = int((predicted == truth).sum())
        low, high = wilson(right, len(held))
        usual = np.bincount(truth).max()
        facts.append(
            (
                "accuracy",
                f"right for {100 * right / len(held):.0f} % of {len(held)} random doubles that were held out (between "
                f"{100 * low:.0f} and {100 * high:.0f} %, 95 of 100 times); the commonest answer alone: "
                f"{100 * usual / len(held):.0f} %",
            )
        )
    else:
        facts.append(("accuracy", "not known: no labelled double was held out, or there is no classifier yet"))
    facts += [("agreement", _agreement(said)), ("time", _time(said))]
    facts.append(("privacy", promise or "labels are given to doubles: they cost none"))
    return facts


def _agreement(said: Sequence[Said]) -> str:
    found: dict[str, Any] = agreement(said)
    if not found["records"]:
        return "not known: no double was labelled by two people"
    kappa = found["fleiss"]
    shown = "" if kappa is None else f"; Fleiss' κ = {kappa:.2f} (0 is chance, 1 is always)"
    return f"{found['alike']} of {found['records']} doubles that several people saw got the same label{shown}"


def _time(said: Sequence[Said]) -> str:
    """Time at work: between two labels of a person, if it was not a pause."""
    own: dict[str, list[float]] = {}
    for one in said:
        own.setdefault(one.who, []).append(one.at)
    gaps = np.concatenate([np.diff(sorted(times)) for times in own.values()]) if own else np.zeros(0)
    gaps = gaps[gaps < PAUSE]
    if not len(gaps):
        return "too few labels to say"
    return f"about {gaps.sum() / 60:.0f} minutes of work, {np.median(gaps):.1f} s a label at the median"
