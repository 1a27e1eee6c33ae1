"""How large a group is, and how far off its count may be: for those who draw doubles of that group alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.models.model import Model
from kagemusha.quality.expected_error import WITHIN_90, ExpectedError, expected_error
from kagemusha.quality.released import ReleasedNumbers
from kagemusha.rules.conditions import read_where

GROUP_CELLS = 2**22
DRAWN = 200_000
"""Doubles drawn to estimate the size of a group whose columns are too many to be laid out together."""


@dataclass(frozen=True)
class DrawnGroup:
    """The group that a condition picks."""

    size: float
    """People in it, as the model counts them."""
    error: float | None
    """Its count is off by at most about this many people, in nine of ten cases; None where nothing tells."""
    columns: tuple[str, ...]
    records: bool = False
    """Whether a person may have several: what is counted is then records, not people."""
    population: float | None = None
    """People of the population they stand for, by survey weights; None where none are declared, or where it
    is unknown."""

    @property
    def words(self) -> str:
        """Size and error as people read them; the error is that of the number of records."""
        what = "records" if self.records else "people"
        size = f"about {self.size:,.0f} {what}" if self.size >= 1 else f"less than one of the {what}"
        stands = ""
        if self.population is not None:
            size = f"about {self.size:,.0f} records"
            stands = f"; they stand for about {self.population:,.0f} people of the population"
        if self.error is None:
            return (
                f"{size}; how far off that is cannot be known: how {_listed(self.columns)} go together was not "
                f"measured, so look at it as what the model makes of smaller sets of columns{stands}"
            )
        share = 100 * self.error / max(self.size, 1.0)
        if share > 100:
            return (
                f"{size} in the model, up to about {self.size + self.error:,.0f} in nine of ten cases: how many there "
                f"really are cannot be known, so look at its doubles as what the model makes of larger groups{stands}"
            )
        line = f"{size}, off by at most about {self.error:,.0f} ({share:,.0f} %) in nine of ten cases"
        return (line if share <= 10 else f"{line}: too uncertain to be read as a count") + stands


def drawn_group(model: Model, where: str, expected: ExpectedError | None = None) -> DrawnGroup:
    """The size of the group a condition picks and how far off it is, from released numbers alone.

    Where a measurement covers its columns, the error is that of the noise summed over the group; for one or two columns
    it is never more than half of what their table may be off in all. For more columns that nobody measured together
    nothing is known.
    """
    groups = read_where(where, model.schema)
    columns = model.domain.canonical([name for group in groups for name in group.clique])
    parts = [(group.clique, group.weights()) for group in groups]
    evidence, records = ReleasedNumbers(model), model.schema.unit.max_rows > 1
    if model.domain.cells(columns) > GROUP_CELLS:
        codes = model.sample_codes(DRAWN, rng=np.random.default_rng(0))
        chance = np.ones(len(codes))
        for clique, weights in parts:
            chance *= weights[tuple(codes[:, model.domain.axis(name)] for name in clique)]
        return DrawnGroup(float(chance.mean()) * evidence.total, None, columns, records)
    weights = reduce(np.multiply, (_spread(columns, clique, table) for clique, table in parts))
    table = model.project(columns)
    size = float((table * weights).sum()) * evidence.total / max(float(table.sum()), 1e-12)
    bounds = []
    counts = evidence.counts(columns)
    if counts is not None:
        off = abs(float((weights * (counts.values - table)).sum()))
        bounds.append(off + WITHIN_90 * counts.sigma * math.sqrt(float((weights**2).sum())))
    if len(columns) <= 2:
        intervals = expected or expected_error(model, only=columns)
        whole = intervals.of(columns).high * evidence.total
        bounds.append(whole / 2)
        if len(parts) == 2:
            # of a table of four cells with errors r and c in a row and a column, no cell is off by more than (L1 + 2r +
            # 2c) / 4
            alone = [_alone(evidence, name, weights.ravel(), intervals) for (name,), weights in parts]
            bounds.append(whole / 4 + sum(alone) / 2)
    error = min(bounds) if bounds else None
    return DrawnGroup(size, error, columns, records, _population(model, columns, weights, evidence))


def _population(model: Model, columns: tuple[str, ...], inside: FloatArray, evidence: ReleasedNumbers) -> float | None:
    """The sum of survey weights in a group."""
    steps, weight = model.schema.weights, model.schema.weight
    if steps is None or weight is None or model.domain.cells([*columns, weight.column]) > GROUP_CELLS:
        return None
    wide = model.domain.canonical([*columns, weight.column])
    table = model.project(wide)
    # the group's share of a cell does not depend on the weight, unless the condition itself speaks of it
    group = inside if weight.column in columns else np.expand_dims(inside, wide.index(weight.column))
    each = _spread(wide, (weight.column,), steps.values)
    return float((table * group * each).sum()) * evidence.total / max(float(table.sum()), 1e-12)


def _alone(evidence: ReleasedNumbers, name: str, weights: FloatArray, intervals: ExpectedError) -> float:
    """How far off the count of a condition on one column may be."""
    most = intervals.of((name,)).high * evidence.total / 2
    counts = evidence.counts((name,))
    if counts is None:
        return most
    off = abs(float((weights * (counts.values - evidence.model.project((name,)))).sum()))
    return min(most, off + WITHIN_90 * counts.sigma * math.sqrt(float((weights**2).sum())))


def _spread(columns: tuple[str, ...], clique: tuple[str, ...], weights: FloatArray) -> FloatArray:
    """Weights over some columns as an array over all of them, ready to be multiplied."""
    order = sorted(range(len(clique)), key=lambda i: columns.index(clique[i]))
    shape = [weights.shape[clique.index(name)] if name in clique else 1 for name in columns]
    return weights.transpose(order).reshape(shape)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
