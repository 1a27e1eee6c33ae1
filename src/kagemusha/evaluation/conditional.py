"""What a column looks like among people who share a label: length of stay by ward, schooling by age group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.evaluation.raw import RawColumn, RawTable
from kagemusha.evaluation.raw_columns import day, kolmogorov_smirnov, number, quantiles, value_shares

MOST_LABELS, LEAST_PEOPLE = 30, 50
MOST_PAIRS = 400
CONDITIONAL_ROWS = 50_000
WORST, OF_ONE_COLUMN = 10, 3


@dataclass(frozen=True)
class Conditional:
    """One column among those who share a label, real against synthetic."""

    column: str
    given: str
    value: str
    people: int
    doubles: int
    distance: float
    """Kolmogorov–Smirnov of numbers and dates, total variation of labels."""
    chance: float
    """About what the same distance would be by chance in groups of these sizes."""
    words: str


@dataclass(frozen=True)
class Conditionals:
    """Distributions given a label."""

    mean: float | None
    """Mean distance, each group weighted by its people; None if no group is large enough."""
    worst: Sequence[Conditional]
    groups: int


def compare_conditionals(real: RawTable, synthetic: RawTable, *, rng: np.random.Generator) -> Conditionals:
    """Every column given every label column with few labels, in groups of at least 50 people."""
    real, synthetic = real.sampled(CONDITIONAL_ROWS, rng), synthetic.sampled(CONDITIONAL_ROWS, rng)
    found: list[Conditional] = []
    pairs = 0
    for given in real.of_kind("label"):
        groups = _groups(given, synthetic[given.name])
        for column in real.columns.values():
            if column.name == given.name or pairs >= MOST_PAIRS:
                continue
            pairs += 1
            for value, people, doubles in groups:
                found.append(_one(column, synthetic[column.name], given.name, value, people, doubles))
    if not found:
        return Conditionals(None, (), 0)
    weights = np.array([one.people for one in found], dtype=np.float64)
    mean = float(np.average([one.distance for one in found], weights=weights))
    worst = sorted((one for one in found if one.distance > 1.5 * one.chance), key=lambda one: one.chance - one.distance)
    listed: list[Conditional] = []
    for one in worst:
        if sum(other.column == one.column for other in listed) < OF_ONE_COLUMN and len(listed) < WORST:
            listed.append(one)
    return Conditionals(mean, listed, len(found))


def _groups(real: RawColumn, synthetic: RawColumn) -> list[tuple[str, IntArray, IntArray]]:
    """Each frequent label, and the rows that have it on both sides."""
    if not 1 < len(real.words) <= MOST_LABELS:
        return []
    places = {word: i for i, word in enumerate(synthetic.words)}
    found = []
    for i, word in enumerate(real.words):
        people = np.flatnonzero(real.texts == i)
        doubles = np.flatnonzero(synthetic.texts == places.get(word, -2))
        if len(people) >= LEAST_PEOPLE and len(doubles):
            found.append((word, people, doubles))
    return found


def _one(
    real: RawColumn, synthetic: RawColumn, given: str, value: str, people: IntArray, doubles: IntArray
) -> Conditional:
    a, b = real.take(people), synthetic.take(doubles)
    deviation = math.sqrt(1 / len(people) + 1 / len(doubles))
    if real.kind == "label":
        shares = value_shares(a), value_shares(b)
        every = {**shares[0], **shares[1]}
        distance = sum(abs(shares[0].get(v, 0.0) - shares[1].get(v, 0.0)) for v in every) / 2
        # E|p̂ − q̂| of a share p is about √(2/π) √(p (1 − p)) · deviation
        chance = deviation / math.sqrt(2 * math.pi) * sum(math.sqrt(p * (1 - p)) for p in shares[0].values() if p < 1)
        most = max(every, key=lambda v: abs(shares[0].get(v, 0.0) - shares[1].get(v, 0.0)))
        name = "missing" if most is None else f"{most}"
        words = (
            f"“{name}”: {100 * shares[0].get(most, 0):.1f} % of people, {100 * shares[1].get(most, 0):.1f} % of doubles"
        )
    else:
        numbers = [side.numbers[~np.isnan(side.numbers)] for side in (a, b)]
        distance, chance = kolmogorov_smirnov(*numbers), 0.87 * deviation
        words = f"people {_told(numbers[0], real.kind)}; doubles {_told(numbers[1], real.kind)}"
    return Conditional(real.name, given, value, len(people), len(doubles), distance, chance, words)


def _told(numbers: FloatArray, kind: str) -> str:
    ends = quantiles(numbers)
    if ends is None:
        return "none"
    low, middle, high = (day(v) if kind == "moment" else number(v) for v in ends)
    return f"half below {middle} ({low} to {high})"
