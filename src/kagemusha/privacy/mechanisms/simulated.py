"""Fast, reproducible noise for runs stamped *simulation*: games, experiments, tests. It protects nobody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray


class SimulatedNoise:
    """The same distributions as `ExactNoise`, vectorised and seeded."""

    simulated = True

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def discrete_gaussian(self, sigma: float, size: int) -> IntArray:
        """Inverse-CDF draws on a support of ±12σ."""
        if sigma > 50:
            # the two laws differ by less than 10⁻⁴ in total variation here, far below what an experiment sees
            return self.rounded_gaussian(sigma, size)
        reach = max(4, int(np.ceil(12 * sigma)))
        support = np.arange(-reach, reach + 1)
        cumulative = np.cumsum(np.exp(-(support**2) / (2 * sigma**2)))
        draws = np.searchsorted(cumulative, self._rng.random(size) * cumulative[-1])
        return np.asarray(support[draws], dtype=np.int64)

    def rounded_gaussian(self, sigma: float, size: int) -> IntArray:
        """Rounded Gaussian draws."""
        return np.rint(self._rng.normal(0.0, sigma, size)).astype(np.int64)

    def discrete_laplace(self, scale: float, size: int) -> IntArray:
        """Difference of two geometric draws."""
        p = -np.expm1(-1 / scale)
        return np.asarray(self._rng.geometric(p, size) - self._rng.geometric(p, size), dtype=np.int64)

    def noisy_max(self, scores: IntArray, scale: float) -> int:
        """Gumbel noise in floating point."""
        return int(np.argmax(scores.astype(float) / scale + self._rng.gumbel(size=len(scores))))

    def poisson_sample(self, rate: float, size: int) -> NDArray[np.bool_]:
        """Independent draws."""
        return self._rng.random(size) < rate

    def fast_gaussian(self, sigma: float, size: int) -> IntArray:
        """As `rounded_gaussian`."""
        return self.rounded_gaussian(sigma, size)

    def stream(self) -> np.random.Generator:
        """A generator that follows from the seed."""
        return np.random.default_rng(int(self._rng.integers(2**62)))
