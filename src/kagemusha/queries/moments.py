"""First and second moments of a table as linear queries on its marginals, exact in integers, with their sensitivity.

Every column becomes a few numbers, its *features*: a labelled column its one-hot code, a measured one its place
between the bounds (−1 to 1) and, where values may be missing, whether it is. Features are functions of codes, so
sums and products of features over all records are sums over one- and two-way marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.adjacency import Adjacency
from kagemusha.schema import Measured, Modelled, Schema
from kagemusha.schema.domain import Clique

STEPS = 2**10
"""Features are multiples of 1/STEPS, so that every sum is an integer."""

_PAIRS_OF_CODES = 1024
"""Up to so many codes the distance between two records is looked up for every pair of codes."""


class LinearQuery(Protocol):
    """A vector of integers that adds up over records, computed from exact marginals."""

    name: str
    proof: str

    def cliques(self) -> Sequence[Clique]:
        """The marginals that must be counted, in the order `values` expects them."""
        ...

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The exact, private answer."""
        ...

    def l2_squared(self, adjacency: Adjacency) -> int:
        """The squared L2 norm by which neighbours' answers may differ, in the same integer units."""
        ...

    def unit(self) -> float:
        """What one integer unit is worth."""
        ...


@dataclass(frozen=True, eq=False)
class Features:
    """One column's features: a row for each code, in units of 1/STEPS."""

    name: str
    labelled: bool
    table: IntArray

    @classmethod
    def of(cls, column: Modelled) -> Features:
        """The features of a declared column."""
        if not isinstance(column, Measured):
            return cls(column.name, True, STEPS * np.eye(column.size, dtype=np.int64))
        ends = np.append(column.starts[1:], column.high).astype(np.float64)
        middle = (column.starts + ends) / 2 if column.high > column.low else column.starts.astype(np.float64)
        width = float(column.high) - float(column.low) or 1.0
        table = np.zeros((column.size, 1 + column.missing), dtype=np.int64)
        table[: column.ordinary, 0] = np.rint(STEPS * np.clip(2 * (middle - float(column.low)) / width - 1, -1, 1))
        if column.missing:
            table[-1, 1] = STEPS
        return cls(column.name, False, table)

    @cached_property
    def statistics(self) -> IntArray:
        """What is summed over records for the column alone, in units of 1/STEPS²: features, and the place squared."""
        linear = STEPS * self.table
        return linear if self.labelled else np.column_stack([linear, self.table[:, 0] ** 2])

    @cached_property
    def largest(self) -> int:
        """The largest squared norm of a code's features."""
        return int((self.table**2).sum(axis=1).max())


def features_of(schema: Schema) -> tuple[Features, ...]:
    """Features of every modelled column."""
    return tuple(map(Features.of, schema.modelled))


@dataclass(frozen=True, eq=False)
class FirstMoments:
    """The number of records and, for each column, the sums of its `statistics`."""

    features: Sequence[Features]

    name = "sums of features"
    proof = (
        "One record adds 1 to the number of records and, for each column, one row of the column's public table of "
        "statistics. Add-remove: Δ² = 1 + Σ_j max over codes of the row's squared norm. Replace: the number of records "
        "stays, and each column's part moves by the distance between two rows; Δ² = Σ_j of the largest squared distance, "
        "looked up over all pairs of codes, or bounded by (2·largest norm)² where the codes are too many. All entries "
        "are integers in units of 1/STEPS²."
    )

    def cliques(self) -> Sequence[Clique]:
        """Every column."""
        return [(), *((f.name,) for f in self.features)]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """Rows first, then column by column."""
        rows, *columns = marginals
        parts = [m.counts @ f.statistics for f, m in zip(self.features, columns, strict=True)]
        return np.concatenate([rows.counts.reshape(1) * STEPS**2, *parts])

    def l2_squared(self, adjacency: Adjacency) -> int:
        """See `proof`."""
        if adjacency is Adjacency.ADD_REMOVE:
            return STEPS**4 + sum(int((f.statistics**2).sum(axis=1).max()) for f in self.features)
        return sum(_largest_distance(f) for f in self.features)

    def unit(self) -> float:
        """1/STEPS²."""
        return STEPS**-2


def _largest_distance(features: Features) -> int:
    """The largest squared distance between two codes' statistics."""
    rows = features.statistics
    norms = (rows**2).sum(axis=1)
    if features.labelled:
        return 2 * int(norms.max())  # one-hot codes are orthogonal
    if len(rows) > _PAIRS_OF_CODES:
        return 4 * int(norms.max())
    return int((norms[:, None] + norms[None, :] - 2 * rows @ rows.T).max())


@dataclass(frozen=True, eq=False)
class CrossMoments:
    """For each pair of columns, the sums of products of their features."""

    features: Sequence[Features]

    name = "sums of products of features"
    proof = (
        "One record adds, for each pair of columns, the outer product of two rows of public tables, whose squared norm "
        "is the product of theirs. Add-remove: Δ² = Σ_{j<l} N_j·N_l with N the largest squared norm of a column's "
        "features. Replace: the two outer products differ by at most twice the largest norm, Δ² ≤ 4·N_j·N_l; where both "
        "columns are labelled all entries are non-negative, so the two have a non-negative inner product and "
        "Δ² ≤ 2·N_j·N_l. All entries are integers in units of 1/STEPS²."
    )

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

    def l2_squared(self, adjacency: Adjacency) -> int:
        """See `proof`."""
        total = 0
        for a, b in combinations(self.features, 2):
            factor = 1 if adjacency is Adjacency.ADD_REMOVE else 2 if a.labelled and b.labelled else 4
            total += factor * a.largest * b.largest
        return total

    def unit(self) -> float:
        """1/STEPS²."""
        return STEPS**-2


def _product(a: Features, counts: IntArray, b: Features) -> IntArray:
    left = STEPS * counts if a.labelled else a.table.T @ counts
    return STEPS * left if b.labelled else left @ b.table
