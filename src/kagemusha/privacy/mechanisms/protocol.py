"""What a source of privacy noise must offer: integers only, so that nothing hides in the last bits of a float."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray


class Noise(Protocol):
    """A source of integer noise and private selection.

    `simulated` is True when the draws are reproducible and therefore protect nobody.
    """

    simulated: bool

    def discrete_gaussian(self, sigma: float, size: int) -> IntArray:
        """Draws from the discrete Gaussian: P(k) ∝ exp(−k²/2σ²)."""
        ...

    def rounded_gaussian(self, sigma: float, size: int) -> IntArray:
        """Draws from a Gaussian of standard deviation σ, rounded to the nearest integer."""
        ...

    def discrete_laplace(self, scale: float, size: int) -> IntArray:
        """Draws from the discrete Laplace: P(k) ∝ exp(−|k|/scale)."""
        ...

    def noisy_max(self, scores: IntArray, scale: float) -> int:
        """Index of the largest score after Gumbel noise of `scale` (the exponential mechanism)."""
        ...

    def poisson_sample(self, rate: float, size: int) -> NDArray[np.bool_]:
        """Which of `size` persons are in a sample: each with probability at most `rate`, independently."""
        ...

    def stream(self) -> np.random.Generator:
        """A generator for what follows released numbers (initial weights, draws of a model): fresh, or of the simulation."""
        ...

    def fast_gaussian(self, sigma: float, size: int) -> IntArray:
        """Rounded Gaussian draws to the precision of a double, for training alone; see `release.training`."""
        ...
