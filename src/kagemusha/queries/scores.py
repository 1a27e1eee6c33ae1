"""Errors of a model as integer scores, to be released with noise or chosen from.

Scores are integers in units of 2⁻¹², so that neighbouring tables differ by exactly what the proof says, with no
rounding of sums in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT, WEIGHT_STEPS
from kagemusha.queries.query import Choice, ReadsMarginals
from kagemusha.schema.domain import Clique

FARTHEST = 2**60


def clamped(score: int) -> int:
    """A score that 64 bits hold. Two scores are no farther apart for it, so its reach holds too."""
    return max(-FARTHEST, min(FARTHEST, score))


@dataclass(frozen=True, eq=False)
class NoisyVector:
    """Released numbers in their own scale, each with noise of deviation `sigma`."""

    values: FloatArray
    sigma: float


@dataclass(frozen=True, eq=False)
class Distances(Choice[NoisyVector]):
    """Weighted, penalised L1 distances of some tables from estimates of them, one per candidate, in whole units.

    `estimates` are tables the data does not influence beyond what was already released; `penalties` and `weights`
    are public. Weights are rounded to multiples of max(w)/4096 so that every score is an integer.
    """

    candidates: Sequence[Clique]
    estimates: Sequence[FloatArray]
    weights: FloatArray
    penalties: FloatArray

    @property
    def options(self) -> Sequence[tuple[str, ...]]:
        """The candidates."""
        return [tuple(clique) for clique in self.candidates]

    def _integer_weights(self) -> IntArray:
        steps: IntArray = np.rint(self.weights / self.weights.max() * WEIGHT_STEPS).astype(np.int64)
        return np.maximum(1, steps)

    def distances(self, tables: Sequence[IntArray], scale: int = 1) -> IntArray:
        """The scores of exact tables, which are in units of 2⁻¹² of a record once they are multiplied by `scale`."""
        weights = self._integer_weights()
        scores = np.empty(len(self.candidates), dtype=np.int64)
        for batch in _batches([estimate.size for estimate in self.estimates]):
            distances = _distances(tables[batch], self.estimates[batch], scale)
            for i, distance in zip(range(batch.start, batch.stop), distances, strict=True):
                penalty = round(float(self.penalties[i]) * UNITS_PER_COUNT)
                scores[i] = clamped(int(weights[i]) * (distance - penalty))
        return scores

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """The scores in their own scale."""
        worth = float(self.weights.max()) / WEIGHT_STEPS / UNITS_PER_COUNT
        return NoisyVector(values.astype(np.float64) * worth, deviation * worth)


@dataclass(frozen=True, eq=False)
class L1Error(Distances, ReadsMarginals[NoisyVector]):
    """w_r (‖p_r(D) − p̂_r‖₁ − penalty_r) for each candidate clique r: AIM's score."""

    kind: ClassVar[str] = "l1-error"
    proof: ClassVar[str] = (
        "One record changes the counts of a marginal by at most Δ₁ in L1 norm (1 where it is added, 2 where it is "
        "exchanged). By the triangle inequality ‖p_r(D) − p̂_r‖₁ changes by at most Δ₁, since p̂_r is fixed before the "
        "data is read. Multiplying by w_r ≤ max w and subtracting a constant gives max(w)·Δ₁. Tables are rounded to "
        "multiples of 2⁻¹² of a record and weights to multiples of max(w)/4096 before the sum, so the sum is exact in "
        "integers and the bound holds to the last bit."
    )

    @property
    def what(self) -> str:
        """Errors of so many candidates."""
        return f"L1 error of {len(self.candidates)} candidates"

    def cliques(self) -> Sequence[Clique]:
        """One marginal per candidate."""
        return self.candidates

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The weighted, penalised L1 distances in integer units."""
        return self.distances([marginal.counts for marginal in marginals], UNITS_PER_COUNT)


BATCH = 1 << 18
"""Cells that are worked on at a time: many small tables together, a large one alone."""


def _batches(sizes: Sequence[int]) -> Iterator[slice]:
    """Runs of tables of at most `BATCH` cells together."""
    start, cells = 0, 0
    for i, size in enumerate(sizes):
        if i > start and cells + size > BATCH:
            yield slice(start, i)
            start, cells = i, 0
        cells += size
    if start < len(sizes):
        yield slice(start, len(sizes))


def _distances(tables: Sequence[IntArray], estimates: Sequence[FloatArray], scale: int) -> list[int]:
    """L1 distances in units of 2⁻¹² of a record, exact in integers."""
    sizes = [estimate.size for estimate in estimates]
    most = np.repeat([FARTHEST // size for size in sizes], sizes)  # the sum over all cells must fit too
    expected = np.concatenate([estimate.ravel() for estimate in estimates]) * UNITS_PER_COUNT
    fixed = np.rint(np.clip(expected, -most, most)).astype(np.int64)
    exact = np.concatenate([table.ravel() for table in tables]) * scale
    starts = np.cumsum([0, *sizes[:-1]])
    found: list[int] = np.add.reduceat(np.abs(exact - fixed), starts).tolist()
    return found
