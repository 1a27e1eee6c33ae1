"""What a selection may look at: integer scores that carry their own sensitivity and a proof note.

A caller never passes a bare sensitivity. Scores are integers in units of 2⁻¹², so that neighbouring tables differ by
exactly what the proof says, with no rounding of sums in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.adjacency import Adjacency, counts_sensitivity
from kagemusha.schema.domain import Clique

UNITS_PER_COUNT = 2**12
"""Fixed-point resolution of a score: one record is this many units."""

_WEIGHT_STEPS = 2**12


FARTHEST = 2**60


def clamped(score: int) -> int:
    """A score that 64 bits hold. Two scores are no farther apart for it, so its sensitivity holds too."""
    return max(-FARTHEST, min(FARTHEST, score))


class Score(Protocol):
    """A vector of integer scores over public candidates, computed from exact marginals."""

    name: str
    proof: str

    def cliques(self) -> Sequence[Clique]:
        """The marginals that must be counted, in the order `values` expects them."""
        ...

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """One integer score a candidate."""
        ...

    def sensitivity(self, adjacency: Adjacency) -> int:
        """The most that any one score changes between neighbours, in the same integer units."""
        ...

    def unit(self) -> float:
        """What one integer unit is worth in the score's own scale."""
        ...


@dataclass(frozen=True, eq=False)
class L1Error:
    """w_r (‖p_r(D) − p̂_r‖₁ − penalty_r) for each candidate clique r: AIM's score.

    `estimates` are tables the data does not influence beyond what was already released; `penalties` and `weights`
    are public. Weights are rounded to multiples of max(w)/4096 so that every score is an integer.
    """

    candidates: Sequence[Clique]
    estimates: Sequence[FloatArray]
    weights: FloatArray
    penalties: FloatArray

    name = "L1 error"
    proof = (
        "One neighbour step changes the counts of a marginal by at most Δ₁ in L1 norm (1 for add-remove, 2 for "
        "replace). By the triangle inequality ‖p_r(D) − p̂_r‖₁ changes by at most Δ₁, since p̂_r is fixed before the "
        "data is read. Multiplying by w_r ≤ max w and subtracting a constant gives max(w)·Δ₁. Tables are rounded to "
        "multiples of 2⁻¹² of a record and weights to multiples of max(w)/4096 before the sum, so the sum is exact in "
        "integers and the bound holds to the last bit."
    )

    def cliques(self) -> Sequence[Clique]:
        """One marginal a candidate."""
        return self.candidates

    def _integer_weights(self) -> IntArray:
        steps: IntArray = np.rint(self.weights / self.weights.max() * _WEIGHT_STEPS).astype(np.int64)
        return np.maximum(1, steps)

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The weighted, penalised L1 distances in integer units."""
        weights = self._integer_weights()
        scores = np.empty(len(self.candidates), dtype=np.int64)
        for i, (marginal, estimate) in enumerate(zip(marginals, self.estimates, strict=True)):
            most = FARTHEST // estimate.size  # the sum over all cells must fit too
            fixed = np.rint(np.clip(estimate * UNITS_PER_COUNT, -most, most)).astype(np.int64)
            distance = int(np.abs(marginal.counts * UNITS_PER_COUNT - fixed).sum())
            scores[i] = clamped(int(weights[i]) * (distance - round(float(self.penalties[i]) * UNITS_PER_COUNT)))
        return scores

    def sensitivity(self, adjacency: Adjacency) -> int:
        """max(w)·Δ₁ in integer units."""
        return int(self._integer_weights().max()) * UNITS_PER_COUNT * counts_sensitivity(adjacency).l1

    def unit(self) -> float:
        """One integer unit in the scale of the weighted score."""
        return float(self.weights.max()) / _WEIGHT_STEPS / UNITS_PER_COUNT
