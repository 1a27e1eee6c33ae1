"""Exact and released tables of counts, as two different types.

A `Marginal` is private: it never leaves the release room. A `NoisyMarginal` is what was released: it may go
anywhere. Nothing converts one into the other but the Curator, which pays for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.schema.domain import Clique


@dataclass(frozen=True, eq=False)
class Marginal:
    """Exact counts of the private table over a clique. Private: do not store, print or return it."""

    clique: Clique
    counts: IntArray

    def __post_init__(self) -> None:
        if self.counts.ndim != len(self.clique) or self.counts.dtype != np.int64:
            raise ValueError("counts need int64 and one axis for each attribute of the clique")

    def __repr__(self) -> str:
        return f"Marginal({self.clique}, <private>)"


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """Released counts over a clique: exact integer counts plus integer noise of standard deviation `sigma`."""

    clique: Clique
    values: IntArray
    sigma: float

    def __post_init__(self) -> None:
        if self.values.ndim != len(self.clique) or self.values.dtype != np.int64:
            raise ValueError("values need int64 and one axis for each attribute of the clique")
        if not self.sigma >= 0:
            raise ValueError(f"sigma must be at least 0, got {self.sigma}")


def nearest_counts(values: FloatArray, total: float) -> FloatArray:
    """The nearest table (in L2) of non-negative counts that sum to `total`, which is positive.

    All cells are lowered by the same amount and cut at zero (Duchi, Shalev-Shwartz, Singer and Chandra 2008).

    >>> nearest_counts(np.array([5.0, -3.0, 1.0]), 4.0)
    array([4., 0., 0.])
    """
    flat = np.sort(values.ravel())[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > excess)[-1])
    counts: FloatArray = np.maximum(values - excess[last], 0.0)
    return counts
