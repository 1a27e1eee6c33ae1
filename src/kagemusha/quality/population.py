"""What the doubles of a survey say of the population, with those whose value nobody listed.

From released numbers alone. A population total is a sum of weights over a group, so its error is that of the group's
counts, weight by weight. Weights are taken as the schema codes them: in the middle of their bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge
from kagemusha.models.model import Model
from kagemusha.quality.expected_error import WITHIN_90, ExpectedError
from kagemusha.quality.released import ReleasedNumbers

DEVIATIONS = 1.96
"""Of the noise, on both sides: what holds in 95 of 100 cases."""


@dataclass(frozen=True)
class NotListed:
    """A column whose schema lists its categories and declares no label for the rest."""

    column: str
    low: float
    high: float


def not_listed(model: Model) -> Sequence[NotListed]:
    """Every such column of which counts were released, with an interval of people."""
    released = ReleasedNumbers(model)
    found = []
    for column in model.schema.modelled:
        counts = None if column.unseen_code is None else released.counts((column.name,))
        if counts is not None and column.unseen_code is not None:
            count, reach = float(counts.values[column.unseen_code]), DEVIATIONS * counts.sigma
            found.append(NotListed(column.name, max(0.0, count - reach), max(0.0, count + reach)))
    return found


MOST_LABELS = 30
"""Columns with more labels are not listed total by total."""

MOST_TOTALS = 200
"""Totals listed in all."""


@dataclass(frozen=True)
class PopulationTotal:
    """People of the population in a group as the model counts them, and where the real weighted total lies."""

    column: str
    label: str
    people: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """For machines, to four digits."""
        group = {"column": self.column, "label": self.label} if self.column else {"column": None, "label": "everybody"}
        return {**group, "people": _digits(self.people), "low": _digits(self.low), "high": _digits(self.high)}


def population_totals(model: Model, expected: ExpectedError) -> Sequence[PopulationTotal]:
    """The whole population, and each label of columns with few labels; nothing where no weight is declared."""
    steps, weight = model.schema.weights, model.schema.weight
    if steps is None or weight is None:
        return []
    evidence = ReleasedNumbers(model)
    everybody = _total(evidence, (weight.column,), steps.values, expected, "", "everybody")
    found = [everybody]
    known = {frozenset(pair.clique) for pair in expected.pairs}
    for column in model.schema.modelled:
        few = column.axis is None and column.size <= MOST_LABELS
        if not few or frozenset({column.name, weight.column}) not in known or len(found) + column.size > MOST_TOTALS:
            continue
        clique = model.domain.canonical([column.name, weight.column])
        for code, label in enumerate(column.code_names):
            alone = np.zeros(column.size)
            alone[code] = 1
            order = [alone, steps.values] if clique[0] == column.name else [steps.values, alone]
            try:
                one = _total(evidence, clique, np.outer(*order), expected, column.name, label)
            except ModelTooLarge:
                break
            # whatever is known of a group, it is no larger than the population
            found.append(replace(one, high=max(one.people, min(one.high, everybody.high))))
    return found


def _total(
    evidence: ReleasedNumbers,
    clique: tuple[str, ...],
    weights: FloatArray,
    expected: ExpectedError,
    column: str,
    label: str,
) -> PopulationTotal:
    """The weighted sum of a model's table, and the least error that is known of it.

    Where counts were measured: how far the model is from them, and their noise. Whatever was measured: counts that are
    wrong by L1 in all move no more than half of that into or out of the group, each record for the largest weight in
    it.
    """
    table = evidence.model.project(clique)
    scale = evidence.total / max(float(table.sum()), 1e-12)
    people = float((table * weights).sum()) * scale
    whole = expected.of(clique).high * evidence.total
    bounds = [float(weights.max()) * whole / 2]
    counts = evidence.counts(clique)
    if counts is not None:
        off = abs(float((weights * (counts.values - table * scale)).sum()))
        bounds.append(off + WITHIN_90 * counts.sigma * math.sqrt(float((weights**2).sum())))
    # doubles are drawn: their number in the group varies by chance, each with its weight
    drawn = WITHIN_90 * math.sqrt(float((weights**2 * np.maximum(table * scale, 0.0)).sum()))
    error = min(bounds) + drawn
    return PopulationTotal(column, label, people, max(0.0, people - error), people + error)


def _digits(value: float) -> float:
    return float(f"{value:.4g}")
