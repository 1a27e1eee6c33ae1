"""Weighted counts: how many people of a population the records of each combination of codes stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import QueryFact
from kagemusha.queries.query import ReadsMarginals, label
from kagemusha.schema import Clique, Schema
from kagemusha.schema.unit import WeightSteps


@dataclass(frozen=True, eq=False)
class NoisyTotals:
    """Released population totals over a clique; `sigma` is the deviation of the noise in each."""

    clique: Clique
    values: FloatArray
    sigma: float


@dataclass(frozen=True, eq=False)
class WeightedCounts(ReadsMarginals[NoisyTotals]):
    """The sum of the declared weights over each combination of codes, in whole steps.

    A record's weight is that of its bin (`schema.weight`), so it is a marginal of the clique and the weight's column
    that is counted, and every source can be asked.
    """

    schema: Schema
    clique: Clique

    kind: ClassVar[str] = "weighted-counts"
    proof: ClassVar[str] = (
        "A record adds the weight of its code, a whole number of steps from 0 to `most`, to one cell: a value beyond "
        "the declared bounds has the code of the nearest bound, or of what a missing weight counts for, so none is "
        "larger. Added or taken away: Δ₁ = most, Δ₂² = most². Exchanged: it takes v from one cell and adds w to "
        "another, Δ₁ ≤ 2·most, Δ₂² ≤ 2·most²; in the same cell |v − w| ≤ most."
    )

    def __post_init__(self) -> None:
        if self.schema.weight is None:
            raise UsageError('the schema declares no weight; add [weight] with column = "…"')
        unknown = [name for name in self.clique if name not in self.schema.domain]
        if unknown:
            raise UsageError(f"no column named {unknown[0]!r}; columns are {', '.join(self.schema.domain.names)}")
        object.__setattr__(self, "clique", self.schema.domain.canonical(self.clique))

    @property
    def weight(self) -> str:
        """The column of the weights."""
        assert self.schema.weight is not None
        return self.schema.weight.column

    @property
    def weights(self) -> WeightSteps:
        """The weight of each of its codes."""
        assert self.schema.weights is not None
        return self.schema.weights

    @property
    def what(self) -> str:
        """Population totals of these columns."""
        return f"population totals by {label(self.clique)}" if self.clique else "the population total"

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """The columns, and the largest weight in steps."""
        return {"columns": tuple(self.clique), "weight": self.weight, "most": self.weights.most}

    def cliques(self) -> Sequence[Clique]:
        """The columns together with the weight's."""
        return [self.schema.domain.canonical([*self.clique, self.weight])]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """Counts times weights, summed over the weight's column unless it is asked for itself."""
        (marginal,) = marginals
        axis = marginal.clique.index(self.weight)
        steps = self.weights.steps.reshape([-1 if i == axis else 1 for i in range(marginal.counts.ndim)])
        weighted = marginal.counts * steps
        return np.asarray(weighted if self.weight in self.clique else weighted.sum(axis=axis)).ravel()

    def released(self, values: IntArray, deviation: float) -> NoisyTotals:
        """In people."""
        shape = self.schema.domain.shape(self.clique)
        people = np.asarray(values.reshape(shape) * self.weights.worth, dtype=np.float64)
        return NoisyTotals(self.clique, people, deviation * self.weights.worth)
