"""Queries on a marginal whose rare codes are merged: its distance from independence, and its interaction alone.

A table's interaction is what is left after its smaller marginals are taken away (each axis centred). Those smaller
marginals are measured once, on their own; a pair measured as a whole pays for them again with every pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import merged
from kagemusha.privacy.budget import QueryFact
from kagemusha.queries.query import Choice, ReadsMarginals, label
from kagemusha.queries.scores import L1Error, NoisyVector
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
class Interaction(ReadsMarginals["NoisyInteraction"]):
    """scale · (interaction of the grouped table), an integer in every cell.

    On an axis with n groups the query applies nI − J (J all ones), so it is the centred table times scale = Π n.
    """

    clique: Clique
    groups: Groups

    kind: ClassVar[str] = "interaction"
    proof: ClassVar[str] = (
        "One record adds ⊗ᵢ (nᵢ e − 1) to the answer, where e marks its group on axis i. Squared norm per axis: "
        "(n−1)² + (n−1) = n(n−1); inner product of two different groups on an axis: −n. Added: Δ² = Π nᵢ(nᵢ−1). "
        "Exchanged: Δ² = 2(Π nᵢ(nᵢ−1) − Π_{i∈S}(−nᵢ) Π_{i∉S} nᵢ(nᵢ−1)), at its largest over the non-empty sets S of "
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

    @property
    def what(self) -> str:
        """The columns and how many groups each has."""
        return f"interaction of {label(self.clique)} in {' × '.join(map(str, self.shape))} groups"

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """The columns and their numbers of groups."""
        return {"columns": tuple(self.clique), "shape": self.shape}

    def identity(self) -> Any:
        """The groups."""
        return [list(self.clique), [group.tolist() for group in self.groups]]

    def cliques(self) -> Sequence[Clique]:
        """One marginal."""
        return [self.clique]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        table = grouped(marginals[0].counts, self.groups)
        for axis, n in enumerate(self.shape):
            table = n * table - table.sum(axis=axis, keepdims=True)
        return table.ravel()

    def released(self, values: IntArray, deviation: float) -> NoisyInteraction:
        """The interaction in records."""
        return NoisyInteraction(self, values.reshape(self.shape) / self.scale, deviation / self.scale)


@dataclass(frozen=True, eq=False)
class NoisyInteraction:
    """A released interaction in records: every cell has noise of deviation `sigma` before it is centred again."""

    query: Interaction
    values: FloatArray
    sigma: float


def combined(one: NoisyInteraction, other: NoisyInteraction) -> NoisyInteraction:
    """Two measurements of the same query as one, by inverse variance."""
    values, precision = merged((measured.values, measured.sigma**-2) for measured in (one, other))
    return NoisyInteraction(one.query, values, precision**-0.5)


@dataclass(frozen=True, eq=False)
class GroupedError(Choice[NoisyVector], ReadsMarginals[NoisyVector]):
    """‖grouped p_r(D) − p̂_r‖₁ for each candidate: how far a pair of columns is from what is known about it.

    `estimates` are over groups and fixed before the data is read.
    """

    candidates: Sequence[Clique]
    groups: Sequence[Groups]
    estimates: Sequence[FloatArray]

    kind: ClassVar[str] = "grouped-l1-error"
    proof: ClassVar[str] = (
        "Summing counts over groups of codes never enlarges an L1 distance; the rest is the proof of L1Error."
    )

    @property
    def _plain(self) -> L1Error:
        ones = np.ones(len(self.candidates))
        return L1Error(self.candidates, self.estimates, weights=ones, penalties=0 * ones)

    @property
    def what(self) -> str:
        """Errors of so many candidates."""
        return f"grouped L1 error of {len(self.candidates)} candidates"

    @property
    def options(self) -> Sequence[tuple[str, ...]]:
        """The candidates."""
        return self._plain.options

    def cliques(self) -> Sequence[Clique]:
        """One marginal per candidate."""
        return self.candidates

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The L1 distances in integer units."""
        tables = [Marginal(m.clique, grouped(m.counts, g)) for m, g in zip(marginals, self.groups, strict=True)]
        return self._plain.values(tables)

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """The distances in records."""
        return self._plain.released(values, deviation)
