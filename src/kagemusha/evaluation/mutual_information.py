"""Mutual information of all pairs of columns, and how much of it the doubles keep."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.quality.projectable import CodedTable, Projectable, in_batches, same_columns, shares


def mutual_information(joint: FloatArray) -> float:
    """I(X, Y) = Σ p log(p / p_x p_y) in nats of a two-way table of counts or shares; never negative."""
    p = shares(joint)
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    occurs = p > 0
    return max(0.0, float((p[occurs] * np.log(p[occurs] / independent[occurs])).sum()))


def chance_information(joint: FloatArray) -> float:
    """What independent columns show on average in n rows: about (r − 1)(c − 1) / 2n for r and c codes."""
    rows, columns = (int(np.count_nonzero(joint.sum(axis=axis))) for axis in (1, 0))
    total = float(joint.sum())
    return (rows - 1) * (columns - 1) / (2 * total) if total > 0 else 0.0


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
    chance: FloatArray
    """How much of it chance alone would show; nothing in a model, which is no sample."""

    def pairs(self) -> FloatArray:
        """The values above the diagonal."""
        return self.values[np.triu_indices(len(self.names), k=1)]

    def beyond_chance(self) -> float:
        """The sum over pairs, each without what chance alone would show."""
        chance = self.chance[np.triu_indices(len(self.names), k=1)]
        return float(np.maximum(0.0, self.pairs() - chance).sum())

    def mean_absolute_difference(self, other: InformationMatrix) -> float:
        """Over all pairs; 0 for a table of one column."""
        mine, theirs = self.pairs(), other.pairs()
        return float(np.abs(mine - theirs).mean()) if len(mine) else 0.0


def information_matrix(thing: Projectable) -> InformationMatrix:
    """The matrix of a table or a model."""
    domain = thing.domain
    values, chance = np.zeros((2, len(domain), len(domain)))
    for axis, table in enumerate(thing.project_many([(name,) for name in domain])):
        values[axis, axis] = entropy(table)
    for batch in in_batches(domain, list(combinations(domain.names, 2))):
        for (a, b), joint in zip(batch, thing.project_many(batch), strict=True):
            i, j = domain.axis(a), domain.axis(b)
            values[i, j] = values[j, i] = mutual_information(joint)
            if isinstance(thing, CodedTable):
                chance[i, j] = chance[j, i] = chance_information(joint)
    return InformationMatrix(domain.names, values, chance)


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
    def kept(self) -> float | None:
        """Synthetic over real mutual information beyond chance, summed over pairs; None where there is none to keep."""
        total = self.real.beyond_chance()
        return self.synthetic.beyond_chance() / total if total > 1e-12 else None


def compare_information(real: Projectable, synthetic: Projectable) -> InformationComparison:
    """The matrices of both sides."""
    same_columns(real, synthetic)
    return InformationComparison(information_matrix(real), information_matrix(synthetic))
