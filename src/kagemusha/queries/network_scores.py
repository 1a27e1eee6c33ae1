"""How well parents explain a child, as integer scores with a proved sensitivity.

PrivBayes' R, F and mutual information. PrivBayes states its bounds for shares of a fixed number of rows n. Here n is
private under add-remove adjacency, so every score is on the scale of counts, where the bounds below hold for every n
and say nothing about it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.marginals import Marginal
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT
from kagemusha.queries.query import Choice, ReadsMarginals
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique, Domain

MOST_BINARY_PARENTS = 4
"""F looks at every way to split the parents' 2ᵏ combinations in two; beyond four parents those are too many."""


@dataclass(frozen=True)
class Family:
    """A child and the parents it is drawn from."""

    child: str
    parents: Clique = ()

    @property
    def members(self) -> Clique:
        """Parents and child, in no particular order."""
        return (*self.parents, self.child)


@dataclass(frozen=True, eq=False)
class NetworkScore(Choice[NoisyVector], ReadsMarginals[NoisyVector]):
    """One score per family, from the exact counts of its members."""

    domain: Domain
    families: Sequence[Family]

    name: ClassVar[str]
    worth: ClassVar[float] = 1 / UNITS_PER_COUNT
    """What one whole number of a score is worth in records."""

    @property
    def what(self) -> str:
        """Scores of so many families."""
        return f"{self.name} of {len(self.families)} families"

    @property
    def options(self) -> Sequence[tuple[str, ...]]:
        """The child first, then its parents."""
        return [(family.child, *family.parents) for family in self.families]

    def identity(self) -> Any:
        """The families."""
        return [list(option) for option in self.options]

    def cliques(self) -> Sequence[Clique]:
        """One marginal per family."""
        return [self.domain.canonical(family.members) for family in self.families]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The scores in integer units."""
        scores = np.empty(len(self.families), dtype=np.int64)
        for i, (family, marginal) in enumerate(zip(self.families, marginals, strict=True)):
            table = np.moveaxis(marginal.counts, marginal.clique.index(family.child), 0)
            scores[i] = self._score(table.reshape(len(table), -1))
        return scores

    @abstractmethod
    def _score(self, table: IntArray) -> int:
        """The score of a table of counts: one row per code of the child, one column per combination of the parents."""

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """The scores in records."""
        return NoisyVector(values.astype(np.float64) * self.worth, deviation * self.worth)


class Dependence(NetworkScore):
    """R: half the L1 distance between the family's counts and what independence would make of them."""

    name: ClassVar[str] = "dependence (R)"
    kind: ClassVar[str] = "dependence"
    proof: ClassVar[str] = (
        "Let M = c − c_X ⊗ c_Π / n be the n-row table's counts minus the product of its margins, R = ½‖M‖₁, and R = 0 "
        "for n = 0. Adding a record (a, b) to n rows with margins p = c_X/n, r = c_Π/n changes M by exactly n/(n+1) · "
        "(e_a − p) ⊗ (e_b − r): expand c' = c + e_a⊗e_b, c'_X = np + e_a, c'_Π = nr + e_b. Its L1 norm is n/(n+1) · "
        "‖e_a − p‖₁ · ‖e_b − r‖₁ ≤ 4n/(n+1) < 4, so R changes by less than 2 (add-remove). Replacing a record is "
        "adding (a, b) or (a', b') to the same n − 1 rows, and the two tables differ by (n−1)/n · (e_a'⊗e_b' − e_a⊗e_b "
        "− (e_a' − e_a)⊗r − p⊗(e_b' − e_b)), of L1 norm below 2 + 2 + 2, so R changes by less than 3 (replace). 2nR = "
        "Σ|n·c − c_X⊗c_Π| is computed exactly in integers; the score is its quotient by 2n rounded down to multiples "
        "of 2⁻¹², and rounding down two numbers that differ by at most an integer keeps that bound."
    )

    def _score(self, table: IntArray) -> int:
        rows = int(table.sum())
        if not rows:
            return 0
        exact = table if rows < 2**31 else table.astype(object)
        distance = np.abs(rows * exact - np.multiply.outer(exact.sum(axis=1), exact.sum(axis=0))).sum()
        return int(distance) * UNITS_PER_COUNT // (2 * rows)


class MutualInformation(NetworkScore):
    """n·I(X, Π) / d(n), where d(n) = (n+1) ln(n+1) − n ln n ≈ 1 + ln n: mutual information on the scale of records."""

    name: ClassVar[str] = "mutual information"
    kind: ClassVar[str] = "mutual-information"
    proof: ClassVar[str] = (
        "Let φ(t) = t ln t and d(t) = φ(t+1) − φ(t), which is increasing and concave with d(0) = 0, and d(n) ≥ 1 + ln "
        "n because d(n) = ∫ₙⁿ⁺¹ (1 + ln t) dt. G = n·I = Σφ(c) − Σφ(c_X) − Σφ(c_Π) + φ(n). Adding a record (a, b) "
        "changes G by g = d(c_ab) − d(c_a) − d(c_b) + d(n). Above: c_ab ≤ c_a gives g ≤ d(n). Below: c_a + c_b ≤ n + "
        "c_ab and concavity give d(c_a) + d(c_b) − d(c_ab) ≤ 2d((n + c_ab)/2) − d(c_ab), which falls in c_ab, so g ≥ "
        "d(n) − 2d(n/2) ≥ −(1 + ln(n/4 + 1)). J = G/d(n), J = 0 for n ≤ 1. J' − J = g/d(n+1) − G·(1/d(n) − 1/d(n+1)); "
        "0 ≤ G ≤ n ln n and 0 ≤ d(n+1) − d(n) ≤ 1/n put the last term in [0, ln n / ((1 + ln n)(1 + ln(n+1)))]. Hence "
        "J' − J ≤ d(n)/d(n+1) ≤ 1, and J' − J ≥ −1 because ln n/(1 + ln n) ≤ ln(4(n+1)/(n+4)) for every n ≥ 1. So J "
        "changes by at most 1 (add-remove), hence at most 2 (replace: remove, then add). Rounding: φ is rounded to "
        "multiples of 2⁻¹², so sums over cells are exact and only the four terms that differ between neighbours are "
        "off, by 2⁻¹³ and the error of a float64 product each; with the division this stays below 32 units of 2⁻¹² up "
        "to 2³⁶ rows, and 64 are added."
    )

    def _score(self, table: IntArray) -> int:
        rows = int(table.sum())
        if rows <= 1:
            return 0
        total = int(_fixed_entropy(table).sum()) + int(_fixed_entropy(np.array([rows]))[0])
        total -= int(_fixed_entropy(table.sum(axis=0)).sum()) + int(_fixed_entropy(table.sum(axis=1)).sum())
        return round(total / (math.log1p(rows) + rows * math.log1p(1 / rows)))


def _fixed_entropy(counts: IntArray) -> IntArray:
    """φ(c) = c ln c in units of 2⁻¹²."""
    return np.rint(counts * np.log(np.maximum(counts, 1)) * UNITS_PER_COUNT).astype(np.int64)


@dataclass(frozen=True, eq=False)
class BinaryDistance(NetworkScore):
    """F: minus the distance to the nearest table in which parents determine a balanced binary child."""

    name: ClassVar[str] = "distance to a determined child (F)"
    kind: ClassVar[str] = "determined-child"
    worth: ClassVar[float] = 0.5
    proof: ClassVar[str] = (
        "F = −min over splits of the parents' combinations into S₀ and S₁ of (n/2 − k₀)₊ + (n/2 − k₁)₊, where k_x "
        "counts the records with child x and parents in S_x. For one split, adding a record raises both n/2 by ½ and "
        "at most one k by 1: each term then rises by at most ½, and only one may fall, by at most ½. So the sum "
        "changes by at most 1 (add-remove). Replacing a record leaves n alone; the record taken away raises the sum by "
        "0 to 1, the one put in lowers it by 0 to 1, so it changes by at most 1 (replace). A minimum of functions that "
        "each change by at most 1 changes by at most 1. Scores are exact integers in halves of a record."
    )

    def __post_init__(self) -> None:
        require_binary(self.domain.project(name for family in self.families for name in family.members))
        if any(len(family.parents) > MOST_BINARY_PARENTS for family in self.families):
            raise UsageError(f"score 'f' takes at most {MOST_BINARY_PARENTS} parents; use a smaller degree or 'r'")

    def _score(self, table: IntArray) -> int:
        splits = _splits(table.shape[1])
        rows = int(table.sum())
        lacking = np.maximum(0, rows - 2 * (splits @ table[0])) + np.maximum(0, rows - 2 * ((1 - splits) @ table[1]))
        return -int(lacking.min())


def require_binary(domain: Domain) -> None:
    """F knows two codes a column and no more."""
    if any(size != 2 for size in domain.sizes):
        raise UsageError("score 'f' is for tables whose columns all have two codes; use 'r'")


@cache
def _splits(combinations: int) -> IntArray:
    """Every subset of the combinations, one row each, as zeros and ones."""
    return (np.arange(2**combinations)[:, None] >> np.arange(combinations)) & 1


NETWORK_SCORES: dict[str, type[NetworkScore]] = {
    "r": Dependence,
    "mutual-information": MutualInformation,
    "f": BinaryDistance,
}
"""The scores a network may be grown by."""
