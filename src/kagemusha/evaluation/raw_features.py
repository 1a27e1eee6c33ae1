"""What a sceptical reader would look at: the values, what their dates and numbers differ by, weekdays, decimals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.raw import RawColumn, RawTable

MOST_LABELS = 200
"""Labels that are distinguished, the most frequent of both sides first; the learner takes at most 255."""

MOST_DIFFERENCES = 40
"""Differences of pairs of columns: all dates first, then numbers that seem to share a unit."""


@dataclass(frozen=True, eq=False)
class Feature:
    """One number per row on each side."""

    name: str
    real: FloatArray
    synthetic: FloatArray
    labels: bool = False
    """Whether the numbers are places of labels and have no order."""
    unit: str = ""
    """days for differences of dates, date for days since 1970; nothing for other numbers."""


def features(real: RawTable, synthetic: RawTable) -> list[Feature]:
    """Every column, and what follows from several of them."""
    found: list[Feature] = []
    for name, column in real.columns.items():
        found += _of_column(column, synthetic[name])
    return found + differences(real, synthetic)


def differences(real: RawTable, synthetic: RawTable) -> list[Feature]:
    """Later minus earlier column, for dates and for numbers of the same unit."""
    dates = [(a.name, b.name) for a, b in combinations(real.of_kind("moment"), 2)]
    numbers = [(a.name, b.name) for a, b in combinations(real.of_kind("number"), 2) if same_unit(a, b)]
    return [
        Feature(
            f"{second} − {first}",
            real[second].numbers - real[first].numbers,
            synthetic[second].numbers - synthetic[first].numbers,
            unit="days" if (first, second) in dates else "",
        )
        for first, second in [*dates, *numbers][:MOST_DIFFERENCES]
    ]


def same_unit(first: RawColumn, second: RawColumn) -> bool:
    """Whether two columns of numbers seem to be measured alike.

    A common word in their names, or nearly the same range.
    """
    words = [set(re.findall(r"[a-z]{2,}", column.name.lower())) for column in (first, second)]
    if words[0] & words[1]:
        return True
    if np.isnan(first.numbers).all() or np.isnan(second.numbers).all():
        return False
    ends = [np.nanquantile(column.numbers, [0.05, 0.95]) for column in (first, second)]
    span = max(float(end[1] - end[0]) for end in ends)
    return span > 0 and bool(np.abs(ends[0] - ends[1]).max() <= 0.1 * span)


def _of_column(real: RawColumn, synthetic: RawColumn) -> list[Feature]:
    found = []
    sides = (real, synthetic)
    if real.kind != "label":
        found.append(Feature(real.name, real.numbers, synthetic.numbers, unit="date" if real.kind == "moment" else ""))
    if real.kind == "moment":
        weekdays = [np.mod(np.floor(side.numbers) + 3, 7) for side in sides]
        found.append(Feature(f"weekday of {real.name}", weekdays[0], weekdays[1], labels=True))
    if real.kind == "number":
        places = [_places(side.numbers) for side in sides]
        if any(np.nanmax(side, initial=0.0) > 0 for side in places):
            found.append(Feature(f"decimals of {real.name}", places[0], places[1]))
        digits = [np.mod(np.floor(side.numbers), 10) for side in sides]
        found.append(Feature(f"last digit of {real.name}", digits[0], digits[1]))
    if real.words or synthetic.words:
        places = label_places(sides)
        name = real.name if real.kind == "label" else f"codes in {real.name}"
        found.append(Feature(name, places[0], places[1], labels=True))
    return found


def _places(numbers: FloatArray) -> FloatArray:
    """Decimals of each number, up to 6."""
    found = np.full(len(numbers), 6.0)
    for places in range(5, -1, -1):
        found[np.abs(np.round(numbers, places) - numbers) <= 1e-9 * np.maximum(1.0, np.abs(numbers))] = places
    found[np.isnan(numbers)] = np.nan
    return found


def label_places(sides: Sequence[RawColumn]) -> list[FloatArray]:
    """Texts of both sides as places in one list, the most frequent first; NaN where there is none."""
    counted: dict[str, int] = {}
    for side in sides:
        counts = np.bincount(side.texts[side.texts >= 0], minlength=len(side.words))
        for word, times in zip(side.words, counts.tolist(), strict=True):
            counted[word] = counted.get(word, 0) + times
    order = {word: min(i, MOST_LABELS) for i, word in enumerate(sorted(counted, key=lambda word: -counted[word]))}
    found = []
    for side in sides:
        table = np.array([float(order[word]) for word in side.words] + [np.nan])
        found.append(table[side.texts])
    return found
