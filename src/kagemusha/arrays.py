"""The array types that pass between rooms, and the one product of vectors that is the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Counts and codes."""

FloatArray = NDArray[np.float64]
"""Probabilities, potentials, measurements."""


Codes = NDArray[Any]
"""Codes in the smallest integer type that holds them."""


def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product, in one thread: BLAS shares long ones out, which changes digits and crawls on busy cores."""
    return float(np.einsum("i,i", a, b))
