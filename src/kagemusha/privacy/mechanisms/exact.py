"""Noise for releases: exact samplers on integers from OpenDP, fed by the operating system's secure generator.

There is no seed here and no way to give one. Timing is not hardened (OpenDP documents the same limit).
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray

_LATTICE_BITS = 52


def _integers() -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    # OpenDP marks mechanisms whose written proof is not yet peer-reviewed as "contrib"
    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))


class ExactNoise:
    """OpenDP's exact discrete samplers (Canonne–Kamath–Steinke 2020) and noisy max."""

    simulated = False

    def discrete_gaussian(self, sigma: float, size: int) -> IntArray:
        """Exact draws from the discrete Gaussian."""
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance

        sample = make_gaussian(_integers(), l2_distance(T="i64"), scale=float(sigma))
        return np.asarray(sample(np.zeros(size, dtype=np.int64)), dtype=np.int64)

    def rounded_gaussian(self, sigma: float, size: int) -> IntArray:
        """Draws of round(Z), Z ~ N(0, σ²).

        Rounding x + Z to an integer is post-processing of the Gaussian mechanism, so for an integer x the output
        x + round(Z) keeps exact Gaussian DP. Z is drawn as a discrete Gaussian on a lattice of spacing g with
        s = σ/g ≥ 2⁵¹. Within 40 standard deviations its probabilities differ from those of a Gaussian rounded
        to that lattice by a factor 1 ± 40²/(24 s²) < 1 ± 10⁻²⁸, and the mass outside is below e⁻⁸⁰⁰. So a
        release of 10⁶ cells is within 10⁻²² in ε and 10⁻³⁴⁰·(1 + e^ε) in δ of the ideal mechanism; `gdp_mu`
        keeps a margin of 10⁻¹⁰ for it.
        """
        # never coarser than the integers: what falls between them would go out without noise
        bits = max(0, _LATTICE_BITS - math.ceil(math.log2(sigma)))
        fine = self.discrete_gaussian(math.ldexp(sigma, bits), size)
        if bits == 0:
            return fine
        if bits > 61:  # sigma below 2⁻⁹: no draw reaches half a unit before 2⁸ standard deviations
            return np.zeros(size, dtype=np.int64)
        return np.asarray((fine + (1 << (bits - 1))) >> bits, dtype=np.int64)

    def discrete_laplace(self, scale: float, size: int) -> IntArray:
        """Exact draws from the discrete Laplace."""
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        sample = make_laplace(_integers(), l1_distance(T="i64"), scale=float(scale))
        return np.asarray(sample(np.zeros(size, dtype=np.int64)), dtype=np.int64)

    def noisy_max(self, scores: IntArray, scale: float) -> int:
        """OpenDP's noisy max with Gumbel noise, evaluated to as many digits as the comparison needs."""
        from opendp.measurements import make_noisy_max
        from opendp.measures import zero_concentrated_divergence
        from opendp.metrics import linf_distance

        choose = make_noisy_max(_integers(), linf_distance(T="i64"), zero_concentrated_divergence(), scale=float(scale))
        return int(choose(scores))

    def poisson_sample(self, rate: float, size: int) -> NDArray[np.bool_]:
        """64 random bits for each person, below rate · 2⁶⁴ rounded down: the probability is never above `rate`."""
        below = min(2**64 - 1, math.floor(math.ldexp(rate, 64)))
        return _bits(size) < np.uint64(below) if rate < 1 else np.ones(size, dtype=np.bool_)

    def stream(self) -> np.random.Generator:
        """A generator seeded by the operating system."""
        return np.random.default_rng(_bits(4))

    def fast_gaussian(self, sigma: float, size: int) -> IntArray:
        """Inverse CDF of 53 random bits, both halves alike: right to 2⁻⁵³ in probability, up to 8.2 deviations."""
        from scipy.special import ndtri

        bits = _bits(size)
        # the centre of one of 2⁵³ equal cells of (0, ½), and a sign
        half = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-54
        sign = np.where(bits & np.uint64(1), 1.0, -1.0)
        return np.asarray(np.rint(sign * ndtri(half) * sigma), dtype=np.int64)


def _bits(size: int) -> NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
