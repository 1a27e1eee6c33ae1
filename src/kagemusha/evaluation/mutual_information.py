"""Mutual information of all pairs of columns, and how much of it the doubles keep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.evaluation.projectable import Projectable, in_batches, project_many, same_columns, shares


def mutual_information(joint: FloatArray) -> float:
    """I(X, Y) = Σ p log(p / p_x p_y) in nats of a two-way table of counts or shares; never negative."""
    p = shares(joint)
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    occurs = p > 0
    return max(0.0, float((p[occurs] * np.log(p[occurs] / independent[occurs])).sum()))


def entropy(table: FloatArray) -> float:
    """−Σ p log p in nats."""
    p = shares(table)
    p = p[p > 0]
    return max(0.0, -float((p * np.log(p)).sum()))


@dataclass(frozen=True, eq=False)
class InformationMatrix:
    """Mutual information of every pair in nats; the diagonal holds the entropies."""

    names: tuple[str, ...]
    values: FloatArray

    def pairs(self) -> FloatArray:
        """The values above the diagonal."""
        return self.values[np.triu_indices(len(self.names), k=1)]

    def mean_absolute_difference(self, other: InformationMatrix) -> float:
        """Over all pairs; 0 for a table of one column."""
        mine, theirs = self.pairs(), other.pairs()
        return float(np.abs(mine - theirs).mean()) if len(mine) else 0.0


def information_matrix(thing: Projectable) -> InformationMatrix:
    """The matrix of a table or a model."""
    domain = thing.domain
    values = np.zeros((len(domain), len(domain)))
    for axis, table in enumerate(project_many(thing, [(name,) for name in domain])):
        values[axis, axis] = entropy(table)
    for batch in in_batches(domain, list(combinations(domain.names, 2))):
        for (a, b), joint in zip(batch, project_many(thing, batch), strict=True):
            i, j = domain.axis(a), domain.axis(b)
            values[i, j] = values[j, i] = mutual_information(joint)
    return InformationMatrix(domain.names, values)


@dataclass(frozen=True, eq=False)
class InformationComparison:
    """Real and synthetic side by side."""

    real: InformationMatrix
    synthetic: InformationMatrix

    @property
    def mean_absolute_difference(self) -> float:
        """In nats, over all pairs."""
        return self.real.mean_absolute_difference(self.synthetic)

    @property
    def kept(self) -> float:
        """Synthetic over real mutual information, summed over pairs; 1 where there is none to keep."""
        total = float(self.real.pairs().sum())
        return float(self.synthetic.pairs().sum()) / total if total > 1e-12 else 1.0


def compare_information(real: Projectable, synthetic: Projectable) -> InformationComparison:
    """The matrices of both sides."""
    same_columns(real, synthetic)
    return InformationComparison(information_matrix(real), information_matrix(synthetic))
