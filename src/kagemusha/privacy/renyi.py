"""Rényi divergences of single mechanisms, as upper bounds."""

from __future__ import annotations

import math
from functools import lru_cache


def pure_renyi(alpha: float, epsilon: float) -> float:
    """The largest Rényi divergence of order α that ε-DP allows: randomised response.

    The discrete Laplace mechanism attains it for a shift of one (its loss takes only the values ±1/b), so the
    smaller formula for continuous Laplace noise would be wrong here.
    """
    agree, differ = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    a = alpha * agree + (1 - alpha) * differ
    b = alpha * differ + (1 - alpha) * agree
    high = max(a, b)
    return (high + math.log(math.exp(a - high) + math.exp(b - high))) / (alpha - 1)


@lru_cache(maxsize=4096)
def sampled_gaussian_renyi(alpha: float, rate: float, noise: float) -> float:
    """One step of the sampled Gaussian mechanism, by dp-accounting: exact for whole orders, an upper bound between."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant([alpha])
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(noise)))
    return float(accountant.rdp[0]) * (1 + 1e-9)
