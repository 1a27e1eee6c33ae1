"""Errors of a model over records that count more or less: where a classifier is unsure, say.

The weight of a record is a whole number of 2⁻¹² from 0 to 1, by a rule made of public and released numbers alone. Sums
of such weights are exact integers, so the same proof holds as for plain errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.query import ReadsRecords
from kagemusha.queries.scores import Distances, NoisyVector
from kagemusha.schema.domain import Clique, Domain

Weigh = Callable[[Sequence[Codes]], IntArray]
"""Records (codes, column by column) → the weight of each, in units of 2⁻¹². The weight of a record must depend on that
record only: not on the others, their number or their order."""


@dataclass(frozen=True, eq=False)
class WeightedError(Distances, ReadsRecords[NoisyVector]):
    """w_r (‖p_r^g(D) − p̂_r‖₁ − penalty_r) where p^g counts a record x with weight g(x) in [0, 1]."""

    domain: Domain
    weigh: Weigh

    kind: ClassVar[str] = "weighted-l1-error"
    proof: ClassVar[str] = (
        "The rule g is fixed before the data is read: it is made of earlier answers and of labels given to synthetic "
        "records. One record x adds g(x) ≤ 1 to one cell of each weighted marginal, Δ₁ ≤ 1; exchanged it takes g(x) "
        "from one cell and adds g(x′) to another, Δ₁ ≤ 2. The rest is as for plain errors. Weights are whole units of "
        "2⁻¹², cut to 0 … 1 here, so sums are exact; distances are taken once, of the sums over all records."
    )

    @property
    def what(self) -> str:
        """Weighted errors of so many candidates."""
        return f"weighted L1 error of {len(self.candidates)} candidates"

    def identity(self) -> Any:
        """The candidates; the rule that weighs is made of released numbers, like a model."""
        return [list(clique) for clique in self.candidates]

    def part(self, columns: Sequence[Codes]) -> IntArray:
        """The weighted marginals of the candidates, one after the other."""
        if not len(columns[0]):  # rules that weigh, trees say, may not like to be asked about nobody
            return np.zeros(sum(self.domain.cells(clique) for clique in self.candidates), dtype=np.int64)
        weights = np.clip(self.weigh(columns), 0, UNITS_PER_COUNT)
        tables = [weighted_counts(self.domain, c, columns, weights).ravel() for c in self.candidates]
        return np.concatenate(tables)

    def finish(self, total: IntArray) -> IntArray:
        """The scores."""
        ends = np.cumsum([self.domain.cells(clique) for clique in self.candidates])
        tables = np.split(total, ends[:-1])
        return self.distances(
            [table.reshape(self.domain.shape(c)) for table, c in zip(tables, self.candidates, strict=True)]
        )


def weighted_counts(domain: Domain, clique: Clique, columns: Sequence[Codes], weights: IntArray) -> IntArray:
    """Sums of whole weights over the cells of a marginal; exact."""
    flat = domain.flat(clique, columns)
    # whole numbers whose sums stay below 2⁵³ for 2⁴⁰ records: doubles hold them exactly, in any order
    sums = np.bincount(flat, weights.astype(np.float64), domain.cells(clique))
    return np.asarray(sums.astype(np.int64).reshape(domain.shape(clique)))
