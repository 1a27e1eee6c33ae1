"""Queries on a marginal whose rare codes are merged: its distance from independence, and its interaction alone.

A table's interaction is what is left after its smaller marginals are taken away (each axis centred). Those smaller
marginals are measured once, on their own; a pair measured as a whole pays for them again with every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TypeVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.adjacency import Adjacency
from kagemusha.queries.scores import L1Error
from kagemusha.schema.domain import Clique

Groups = tuple[IntArray, ...]
"""For each axis of a table, the group of every code; groups are numbered from 0 without gaps."""


Table = TypeVar("Table", IntArray, FloatArray)


def grouped(counts: Table, groups: Groups) -> Table:
    """The table summed over groups of codes, axis by axis."""
    for axis, group in enumerate(groups):
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
        counts = np.add.reduceat(np.take(counts, order, axis=axis), first, axis=axis)
    return counts


@dataclass(frozen=True, eq=False)
class Interaction:
    """scale · (interaction of the grouped table), an integer in every cell.

    On an axis with n groups the query applies nI − J (J all ones), so it is the centred table times scale = Π n.
    """

    clique: Clique
    groups: Groups

    proof = (
        "One record adds ⊗ᵢ (nᵢ e − 1) to the answer, where e marks its group on axis i. Squared norm per axis: "
        "(n−1)² + (n−1) = n(n−1); inner product of two different groups on an axis: −n. Add-remove: Δ² = Π nᵢ(nᵢ−1). "
        "Replace: Δ² = 2(Π nᵢ(nᵢ−1) − Π_{i∈S}(−nᵢ) Π_{i∉S} nᵢ(nᵢ−1)), at its largest over the non-empty sets S of "
        "axes on which the two records differ. Groups are fixed before the data is read."
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups on each axis."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @property
    def scale(self) -> int:
        """What the answer must be divided by to be in records."""
        return prod(self.shape)

    def values(self, marginal: Marginal) -> IntArray:
        """The exact, private answer."""
        table = grouped(marginal.counts, self.groups)
        for axis, n in enumerate(self.shape):
            table = n * table - table.sum(axis=axis, keepdims=True)
        return table

    def l2_squared(self, adjacency: Adjacency) -> int:
        """Squared L2 sensitivity in the query's integer units; see `proof`."""
        own = prod(n * (n - 1) for n in self.shape)
        if adjacency is Adjacency.ADD_REMOVE:
            return own
        return max(2 * (own - self._overlap(differ)) for differ in _subsets(len(self.shape)))

    def _overlap(self, differ: Sequence[int]) -> int:
        return prod(-n if i in differ else n * (n - 1) for i, n in enumerate(self.shape))


@dataclass(frozen=True, eq=False)
class NoisyInteraction:
    """A released interaction in records: every cell has noise of deviation `sigma` before it is centred again."""

    query: Interaction
    values: FloatArray
    sigma: float


def combined(one: NoisyInteraction, other: NoisyInteraction) -> NoisyInteraction:
    """Two measurements of the same query as one, by inverse variance."""
    weights = one.sigma**-2, other.sigma**-2
    values = (weights[0] * one.values + weights[1] * other.values) / sum(weights)
    return NoisyInteraction(one.query, values, sum(weights) ** -0.5)


@dataclass(frozen=True, eq=False)
class GroupedError:
    """‖grouped p_r(D) − p̂_r‖₁ for each candidate: how far a pair of columns is from what is known about it.

    `estimates` are over groups and fixed before the data is read.
    """

    candidates: Sequence[Clique]
    groups: Sequence[Groups]
    estimates: Sequence[FloatArray]

    name = "grouped L1 error"
    proof = "Summing counts over groups of codes never enlarges an L1 distance; the rest is the proof of L1Error."

    def _plain(self) -> L1Error:
        ones = np.ones(len(self.candidates))
        return L1Error(self.candidates, self.estimates, weights=ones, penalties=0 * ones)

    def cliques(self) -> Sequence[Clique]:
        """One marginal a candidate."""
        return self.candidates

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The L1 distances in integer units."""
        tables = [Marginal(m.clique, grouped(m.counts, g)) for m, g in zip(marginals, self.groups, strict=True)]
        return self._plain().values(tables)

    def sensitivity(self, adjacency: Adjacency) -> int:
        """As for L1Error."""
        return self._plain().sensitivity(adjacency)

    def unit(self) -> float:
        """One integer unit in records."""
        return self._plain().unit()


def _subsets(axes: int) -> list[tuple[int, ...]]:
    return [s for size in range(1, axes + 1) for s in combinations(range(axes), size)]
