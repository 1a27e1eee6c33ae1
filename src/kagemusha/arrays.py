"""The array types that pass between rooms."""

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
