"""First and second moments of a table as linear queries on its marginals, exact in integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import QueryFact
from kagemusha.queries.query import ReadsMarginals
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique
from kagemusha.schema.features import STEPS, Features, cross_moment_facts, first_moment_facts

UNIT = STEPS**-2
"""What one integer unit of a moment is worth."""


@dataclass(frozen=True, eq=False)
class Moments(ReadsMarginals[NoisyVector]):
    """A vector of sums over records of products of features."""

    features: Sequence[Features]

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """The sums in the features' own scale."""
        return NoisyVector(values.astype(np.float64) * UNIT, deviation * UNIT)


@dataclass(frozen=True, eq=False)
class FirstMoments(Moments):
    """The number of records and, for each column, the sums of its `statistics`."""

    what: ClassVar[str] = "sums of features"
    kind: ClassVar[str] = "first-moments"
    proof: ClassVar[str] = (
        "One record adds 1 to the number of records and, for each column, one row of the column's public table of "
        "statistics. Added: Δ² = 1 + Σ_j max over codes of the row's squared norm. Exchanged: the number of records "
        "stays, and each column's part moves by the distance between two rows; Δ² = Σ_j of the largest squared "
        "distance, looked up over all pairs of codes, or bounded by (2·largest norm)² where the codes are too many. "
        "All entries are integers in units of 1/STEPS²."
    )

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        return first_moment_facts(self.features)

    def cliques(self) -> Sequence[Clique]:
        """Every column."""
        return [(), *((f.name,) for f in self.features)]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """Rows first, then column by column."""
        rows, *columns = marginals
        parts = [m.counts @ f.statistics for f, m in zip(self.features, columns, strict=True)]
        return np.concatenate([rows.counts.reshape(1) * STEPS**2, *parts])


@dataclass(frozen=True, eq=False)
class CrossMoments(Moments):
    """For each pair of columns, the sums of products of their features."""

    what: ClassVar[str] = "sums of products of features"
    kind: ClassVar[str] = "cross-moments"
    proof: ClassVar[str] = (
        "One record adds, for each pair of columns, the outer product of two rows of public tables, whose squared norm "
        "is the product of theirs. Added: Δ² = Σ_{j<l} N_j·N_l with N the largest squared norm of a column's "
        "features. Exchanged: the two outer products differ by at most twice the largest norm, Δ² ≤ 4·N_j·N_l; where "
        "both columns are labelled all entries are non-negative, so the two have a non-negative inner product and "
        "Δ² ≤ 2·N_j·N_l. All entries are integers in units of 1/STEPS²."
    )

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        return cross_moment_facts(self.features)

    def cliques(self) -> Sequence[Clique]:
        """Every pair."""
        return [(a.name, b.name) for a, b in combinations(self.features, 2)]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """Pair by pair, each a table of the first column's features by the second's."""
        parts = [
            _product(a, m.counts, b).ravel()
            for (a, b), m in zip(combinations(self.features, 2), marginals, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _product(a: Features, counts: IntArray, b: Features) -> IntArray:
    left = STEPS * counts if a.labelled else a.table.T @ counts
    return STEPS * left if b.labelled else left @ b.table
