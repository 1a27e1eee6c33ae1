"""Rules that counts of two columns suggest: combinations that never occur, though by chance alone they often would.

Where the table is real, what is suggested was taken from it: it is for a person who knows why it must be so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.columns.labelled import Labelled

EXPECTED = 20.0
"""So many rows would break a rule if the two columns had nothing to do with each other: e⁻²⁰ is no chance."""
MOST_VALUES = 30
"""Of a list in a rule: nobody reads more."""
MOST_APART = 4
"""Single combinations of one pair of columns; where more never occur, the table is just thin."""


@dataclass(frozen=True)
class Suggested:
    """A rule as the schema file writes it, and how many rows would break it by chance."""

    rule: str
    expected: float


def suggested(first: Labelled, second: Labelled, counts: FloatArray) -> list[Suggested]:
    """Implications and impossible combinations, none of which a row of the table breaks; the strongest first."""
    counts = np.asarray(counts, dtype=np.float64)[: len(first.labels), : len(second.labels)]
    total = counts.sum()
    if total == 0 or min(counts.shape) < 2:
        return []
    chance = counts.sum(1)[:, None] * counts.sum(0)[None, :] / total
    forbidden = np.where(counts == 0, chance, 0.0)
    found = list(_implied(first, second, counts, forbidden))
    found += list(_implied(second, first, counts.T, forbidden.T))
    apart = [tuple(at) for at in np.argwhere(forbidden >= EXPECTED)]
    if len(apart) <= MOST_APART:
        for i, j in apart:
            rule = f"never {said(first, [i])} and {said(second, [j])}"
            found.append(Suggested(rule, float(forbidden[i, j])))
    return sorted(found, key=lambda one: -one.expected)


def _implied(given: Labelled, column: Labelled, counts: FloatArray, forbidden: FloatArray) -> Iterator[Suggested]:
    """Values that occur with one partner alone, by partner; what they forbid is then forbidden (set to nought)."""
    single = (counts > 0).sum(1) == 1
    partner = counts.argmax(1)
    occurs = counts.sum(1) > 0
    if occurs.sum() > MOST_VALUES and single[occurs].all() and len(np.unique(partner[single])) > 1:
        if (expected := float(forbidden.sum())) >= EXPECTED:
            yield Suggested(f"{name(given.name)} determines {name(column.name)}", expected)
            forbidden[:] = 0.0
        return
    for other in np.unique(partner[single]):
        rows = np.flatnonzero(single & (partner == other) & (forbidden.sum(1) > 0))
        expected = float(forbidden[rows].sum())
        if len(rows) and len(rows) <= MOST_VALUES and expected >= EXPECTED:
            yield Suggested(f"{said(given, rows)} implies {said(column, [other])}", expected)
            forbidden[rows] = 0.0


def said(column: Labelled, codes: Any) -> str:
    """`column = 'value'`, or a list of values."""
    values = [value(column.labels[code]) for code in codes]
    return f"{name(column.name)} = {values[0]}" if len(values) == 1 else f"{name(column.name)} in ({', '.join(values)})"


def value(label: object) -> str:
    """A value as rules write it."""
    if label is True or label is False:
        return str(label).lower()
    return "'" + str(label).replace("'", "''") + "'"


def name(column: str) -> str:
    """The name of a column as rules write it."""
    return column if re.fullmatch(r"[^\W\d][\w.]*", column) else f"`{column}`"
