"""Noisy counts made possible again: no cell below zero, the right sum."""

from __future__ import annotations

import numpy as np

from kagemusha.arrays import FloatArray


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
