"""The released numbers that a statistic can be worked out from, and how they would have come out another time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.inference.statistics import Statistic
from kagemusha.models.model import Model
from kagemusha.quality.released import ReleasedNumbers, group_sums
from kagemusha.schema import Clique


class Unknown(Exception):
    """Why nothing can be concluded."""


@dataclass(frozen=True, eq=False)
class Part:
    """Noise in a table: independent numbers of deviation `sigma`, one for each code or cell, spread over it."""

    sigma: float
    axis: int | None
    """The column that was counted; None for noise of the table's own cells."""
    centred: bool = False


@dataclass(frozen=True, eq=False)
class Evidence:
    """A table over groups of codes: released values, what they would be drawn from again, and what is asked of them."""

    table: FloatArray
    expected: FloatArray
    """What the model has in each cell: for the sampling of records."""
    groups: tuple[IntArray, ...]
    parts: Sequence[Part]
    value: FloatArray
    weight: FloatArray
    count: int
    """Groups of the statistic, along the first axis; one if there are none."""
    coarse: float = 0.0
    """How far a mean may be off because values were measured in groups: their deviation inside groups, as far as the
    groups' own means go with what they are compared by."""

    def sums(self, tables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Numerators and denominators of the statistic, for each of many tables."""
        axes = tuple(range(2 if self.count > 1 else 1, tables.ndim))
        above, below = ((tables * by).sum(axis=axes).reshape(len(tables), -1) for by in (self.value, self.weight))
        return above[:, : self.count], below[:, : self.count]

    def drawn(self, draws: int, rng: np.random.Generator) -> FloatArray:
        """The table as it might have been released: other records from the population, other noise."""
        share = self.expected.ravel() / self.expected.sum()
        rows = max(1, round(float(self.expected.sum())))
        found = rng.multinomial(rows, share, size=draws).astype(np.float64).reshape(draws, *self.table.shape)
        # around the released values, so that what the model made of them shifts nothing
        found += self.table - self.expected
        for part in self.parts:
            found += self._noise(part, draws, rng)
        return found

    def _noise(self, part: Part, draws: int, rng: np.random.Generator) -> FloatArray:
        shape = self.table.shape
        if part.axis is None:
            noise = rng.normal(0, part.sigma, (draws, *shape))
            for axis in range(1, noise.ndim) if part.centred else ():
                noise -= noise.mean(axis=axis, keepdims=True)
            return noise
        members = np.bincount(self.groups[part.axis], minlength=shape[part.axis])
        spread = self.table.size / shape[part.axis]
        noise = rng.normal(0, 1, (draws, shape[part.axis])) * np.sqrt(members) * part.sigma / spread
        return np.asarray(noise.reshape(draws, *(-1 if i == part.axis else 1 for i in range(len(shape)))))


def evidence_of(model: Model, statistic: Statistic) -> Evidence:
    """What was released about the columns of a statistic; `Unknown` if that does not tell."""
    require_plain(model)
    columns = statistic.columns
    table, groups, parts = _released(model, columns)
    ordered = model.domain.canonical(columns)
    turn = [ordered.index(name) for name in columns]
    table, groups = table.transpose(turn), tuple(groups[i] for i in turn)
    parts = [Part(p.sigma, None if p.axis is None else turn.index(p.axis), p.centred) for p in parts]
    whole = np.maximum(model.project(columns), 1e-9)
    whole *= model.rows / whole.sum()
    expected = group_sums(whole, groups)
    value, weight = (group_sums(whole * by, groups) / expected for by in (statistic.value, statistic.weight))
    _require_fine(statistic, groups)
    coarse = _coarse(statistic, whole, groups)
    return Evidence(table, expected, groups, parts, value, weight, len(statistic.groups), coarse)


def _coarse(statistic: Statistic, whole: FloatArray, groups: tuple[IntArray, ...]) -> float:
    """Deviation of values inside groups × correlation of the groups' means with the other column."""
    if not statistic.averaged or whole.ndim != 2:
        return 0.0
    (axis,) = statistic.averaged
    table = whole if axis == 1 else whole.T
    values = statistic.value[0] if axis == 1 else statistic.value[:, 0]
    share = table.sum(axis=0) / table.sum()
    group = groups[axis]
    mass = np.bincount(group, share)
    means = (np.bincount(group, share * values) / np.maximum(mass, 1e-12))[group]
    inside = float((share * (values - means) ** 2).sum())
    between = float((share * (means - (share * means).sum()) ** 2).sum())
    rows = table.sum(axis=1)
    by_row = (table @ means) / np.maximum(rows, 1e-12)
    explained = float((rows / rows.sum() * (by_row - (share * means).sum()) ** 2).sum())
    return float(np.sqrt(inside * explained / between)) if between > 0 else 0.0


def require_plain(model: Model) -> None:
    """Refuse what this theory says nothing of."""
    if model.schema.weight is not None:
        raise Unknown("the table has survey weights, and intervals that respect a survey's design are not worked out")
    if model.schema.unit.max_rows > 1:
        raise Unknown("persons have several rows, and intervals for rows that belong together are not worked out")


def _released(model: Model, columns: Clique) -> tuple[FloatArray, tuple[IntArray, ...], list[Part]]:
    """The released table of these columns, in the order of the domain."""
    ordered = model.domain.canonical(columns)
    known = ReleasedNumbers(model)
    single = tuple(np.arange(model.domain.size(name)) for name in ordered)
    counts = known.counts(ordered)
    if counts is not None:
        return counts.values.reshape(model.domain.shape(ordered)), single, [Part(counts.sigma, None)]
    if len(ordered) != 2:
        raise Unknown(f"{', '.join(columns)} were not measured together")
    joined = known.joined(ordered)
    if joined is None:
        one, other = columns
        raise Unknown(f"the table of {one} and {other} was not measured: what doubles show of it is no evidence")
    parts = [Part(joined.sigma, None, centred=True), *(Part(s, axis) for axis, s in enumerate(joined.columns))]
    return joined.values, joined.groups, parts


def _require_fine(statistic: Statistic, groups: tuple[IntArray, ...]) -> None:
    """Columns that make groups or conditions must have been measured code by code, as far as is asked."""
    for axis, group in enumerate(groups):
        if axis in statistic.averaged:
            continue
        alone = np.bincount(group)[group] == 1
        first = len(statistic.groups) if axis == 0 and len(statistic.groups) > 1 else len(group)
        if not alone[:first].all():
            raise Unknown(f"values of {statistic.columns[axis]} were measured together and cannot be distinguished")
