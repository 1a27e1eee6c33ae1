"""What a release says about a set of columns, and from which size on groups are counted rightly.

Reads nothing but the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.marginals.tally import merged
from kagemusha.models.model import Model
from kagemusha.queries.interactions import NoisyInteraction, grouped
from kagemusha.schema import Clique

WITHIN = 0.10
"""A count is right if it is off by at most this share of itself."""

STEP = 1.1
SURE = 0.9
"""Share of groups that must be right."""


def right_from(sizes: FloatArray, right: FloatArray) -> float | None:
    """The smallest size from which on nine of ten groups are right, among those up to twice any size above.

    `right` says of each group whether it is (1 or 0), or how likely. None if not even the largest groups are.
    """
    order = np.argsort(sizes)
    sizes, right = sizes[order], right[order]
    sums = np.concatenate([[0.0], np.cumsum(right)])
    if not len(sizes) or sizes[-1] < 1:
        return None
    reached = None
    size = float(sizes[-1])
    while size >= 1:
        first, last = np.searchsorted(sizes, [size, 2 * size], side="left")
        if last > first and sums[last] - sums[first] < SURE * (last - first):
            break
        reached = size
        size /= STEP
    return None if reached is None else float(sizes[np.searchsorted(sizes, reached)])


def group_sizes(
    table: FloatArray, released: Sequence[NoisyTable], error: float, scale: float
) -> tuple[float | None, float]:
    """From which size on groups of a model's table are right to within 10 %, and the share of people in such groups.

    A cell is as likely to be right as its noisy counts say (where its codes were measured alone), and drawing doubles
    adds chance of its own: one stands for `scale` people. Whatever is known, no cell can be off by more than half of
    the table's whole `error`.
    """
    model = table.ravel()
    chance = (model * WITHIN >= error / 2).astype(np.float64)
    for noisy in released:
        alone = np.ones(table.shape, dtype=bool)
        for axis, group in enumerate(noisy.groups or ()):
            alone &= (np.bincount(group)[group] == 1).reshape([-1 if i == axis else 1 for i in range(table.ndim)])
        y = noisy.values if noisy.groups is None else noisy.values[np.ix_(*noisy.groups)]
        chance = np.maximum(chance, np.where(alone.ravel(), _likely(model, y.ravel(), noisy.sigma, scale), 0.0))
    there = model > 0.5
    size = right_from(model[there], chance[there])
    if size is None:
        return None, 0.0
    return size, float(model[model >= size].sum() / max(float(model.sum()), 1e-12))


def _likely(model: FloatArray, noisy: FloatArray, sigma: float, scale: float) -> FloatArray:
    """For each cell, the chance that doubles show its true count to within 10 %, given its noisy count."""
    from scipy.special import ndtr

    spread = np.sqrt(max(sigma, 1e-9) ** 2 + scale * np.maximum(model, 0.0))
    return np.asarray(ndtr(((1 + WITHIN) * model - noisy) / spread) - ndtr(((1 - WITHIN) * model - noisy) / spread))


ENDS = {
    "column": (0.08, 0.88),
    "counts": (0.15, 0.79),
    "interaction": (0.14, 0.75),
    "score": (0.07, 0.58),
    "selection": (0.06, 0.58),
    "columns": (0.01, 0.66),
}
"""Of the upper end that theory gives: the parts between which the true error lay in 92 of 100 cases in one half of the
tables of benchmarks/zoo, each table counting the same (benchmarks/results/intervals.md has the other half)."""


def nearer(width: int, known_from: str, low: float, high: float) -> tuple[float, float]:
    """The ends of an interval as near as they can be; a lower end that theory puts higher stays."""
    least, most = ENDS["column" if width == 1 else known_from]
    return min(most * high, max(low, least * high)), most * high


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """An estimate of the private counts over groups of codes, with Gaussian noise of deviation `sigma` a cell."""

    values: FloatArray
    sigma: float
    groups: tuple[IntArray, ...] | None = None
    """For each axis the group of every code; None where every code is its own group."""


@dataclass(frozen=True, eq=False)
class Joined:
    """A pair's table over groups, from its interaction and its columns."""

    values: FloatArray
    groups: tuple[IntArray, ...]
    sigma: float
    """Of the interaction's cells, before they were centred."""
    columns: tuple[float, float]
    """Of each code of either column."""


def group_sums(table: FloatArray, groups: Sequence[IntArray] | None) -> FloatArray:
    """The table summed over groups; as it is where there are none."""
    return table if groups is None else grouped(table, tuple(groups))


def merged_mass(table: FloatArray, groups: Sequence[IntArray] | None) -> float:
    """Records in cells that share a group with others, so that nothing was measured about how they split."""
    if groups is None:
        return 0.0
    alone = [np.bincount(group)[group] == 1 for group in groups]
    inside: FloatArray = table[np.ix_(*[np.flatnonzero(a) for a in alone])]
    return float(table.sum() - inside.sum())


class ReleasedNumbers:
    """All that was released about the columns of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def total(self) -> float:
        """The released number of records."""
        return max(1.0, float(self.model.generator.total))

    @cached_property
    def _by_clique(self) -> Mapping[Clique, Sequence[NoisyMarginal]]:
        found: dict[Clique, list[NoisyMarginal]] = {}
        for marginal in self.model.measurements:
            found.setdefault(marginal.clique, []).append(marginal)
        return found

    @cached_property
    def _interactions(self) -> Mapping[Clique, NoisyInteraction]:
        return {one.query.clique: one for one in self.model.interactions}

    @cached_property
    def scores(self) -> Mapping[Clique, float]:
        """Noisy distance from independence of each pair that has one, in records."""
        scores = self.model.scores
        return {} if scores is None else {p: float(v) for p, v in zip(scores.pairs, scores.values, strict=True)}

    def covers(self, clique: Clique) -> bool:
        """Whether anything was measured about how these columns go together."""
        wanted = set(clique)
        # an interaction says nothing of its smaller sets
        return any(wanted <= set(measured) for measured in self._by_clique) or clique in self._interactions

    def tables(self, clique: Clique) -> list[NoisyTable]:
        """The released tables over a clique; the best estimate from counts first."""
        found = []
        counts = self.counts(clique)
        if counts is not None:
            found.append(counts)
        interaction = self._with_columns(clique)
        if interaction is not None:
            found.append(interaction)
        return found

    def counts(self, clique: Clique) -> NoisyTable | None:
        """Counts over the clique from every measurement that covers it, combined by inverse variance."""
        answers: list[tuple[FloatArray, float]] = []
        for measured, marginals in self._by_clique.items():
            if not set(clique) <= set(measured):
                continue
            gone = tuple(i for i, name in enumerate(measured) if name not in clique)
            cells = self.model.domain.cells(measured) / self.model.domain.cells(clique)
            for marginal in marginals:
                weight = 1 / (cells * max(marginal.sigma, 1e-9) ** 2)
                answers.append((np.asarray(marginal.values.sum(axis=gone), dtype=np.float64), weight))
        if not answers:
            return None
        values, precision = merged(answers)
        return NoisyTable(np.asarray(values), precision**-0.5)

    def joined(self, clique: Clique) -> Joined | None:
        """A pair's interaction and its columns put together again into a table over groups."""
        released = self._interactions.get(clique)
        if released is None or len(clique) != 2:
            return None
        columns = [self.counts((name,)) for name in clique]
        if columns[0] is None or columns[1] is None:
            return None
        sizes = released.query.shape
        sums = [
            group_sums(c.values, (g,)) for c, g in zip(columns, released.query.groups, strict=True) if c is not None
        ]
        # rows and columns of an interaction sum to 0: what the released ones sum to is noise
        centred = released.values - released.values.mean(axis=1, keepdims=True)
        centred = centred - centred.mean(axis=0, keepdims=True)
        table = centred + sums[0][:, None] / sizes[1] + sums[1][None, :] / sizes[0] - self.total / math.prod(sizes)
        return Joined(table, released.query.groups, released.sigma, (columns[0].sigma, columns[1].sigma))

    def _with_columns(self, clique: Clique) -> NoisyTable | None:
        joined = self.joined(clique)
        if joined is None:
            return None
        sizes = joined.values.shape
        members = [len(g) / n for g, n in zip(joined.groups, sizes, strict=True)]
        variance = joined.sigma**2 * (1 - 1 / sizes[0]) * (1 - 1 / sizes[1])
        variance += (
            joined.columns[0] ** 2 * members[0] / sizes[1] ** 2 + joined.columns[1] ** 2 * members[1] / sizes[0] ** 2
        )
        return NoisyTable(joined.values, math.sqrt(variance), joined.groups)

    def independence(self, pair: Clique) -> FloatArray:
        """The pair's counts if its columns were independent in the model."""
        first, second = self.model.project_many([(pair[0],), (pair[1],)])
        return np.asarray(np.outer(first, second) / self.total)
