"""The inner loop of counting, compiled. Imported only when a table is large enough to pay for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kagemusha.arrays import IntArray

SMALL = 2**14
"""Cells up to which four tables of counts fit into the processor's cache."""


@njit(nogil=True, cache=True)
def count_pairs(first: NDArray[Any], second: NDArray[Any], size: int, counts: IntArray) -> None:
    """Add one to counts[first * size + second] for every row."""
    if len(counts) > SMALL:
        for i in range(len(first)):
            counts[np.int64(first[i]) * size + second[i]] += 1
        return
    # Four tables in turn: a frequent cell would otherwise make each addition wait for the one before.
    partial = np.zeros((4, len(counts)), dtype=np.int64)
    whole = len(first) // 4 * 4
    for i in range(0, whole, 4):
        partial[0, np.int64(first[i]) * size + second[i]] += 1
        partial[1, np.int64(first[i + 1]) * size + second[i + 1]] += 1
        partial[2, np.int64(first[i + 2]) * size + second[i + 2]] += 1
        partial[3, np.int64(first[i + 3]) * size + second[i + 3]] += 1
    for i in range(whole, len(first)):
        counts[np.int64(first[i]) * size + second[i]] += 1
    for cell in range(len(counts)):
        counts[cell] += partial[0, cell] + partial[1, cell] + partial[2, cell] + partial[3, cell]
