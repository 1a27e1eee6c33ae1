"""Distributions of privacy losses on a grid, from dp-accounting.

Dominating pairs of mechanisms that are no Gaussian ones.
"""

from __future__ import annotations

import math
from typing import Any


def pure(epsilon: float, interval: float) -> Any:
    """Of every ε-DP mechanism."""
    from dp_accounting.pld import common, privacy_loss_distribution

    return privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=interval
    )


def bounded_range(epsilon: float, interval: float) -> Any:
    """Of every mechanism of ε-bounded range.

    Its profile is the supremum over t of the two-point pairs with losses t and t − ε, attained at t = (ε + x)/2:
    δ(x) = (1 − e^{(x−ε)/2})² / (1 − e^{−ε}) on [−ε, ε] (Dong, Durfee and Rogers 2020).
    """
    import numpy as np
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    steps = math.ceil(epsilon / interval)
    grid = np.arange(-steps, steps + 1)
    x = np.clip(grid * interval, -epsilon, epsilon)
    deltas = np.expm1((x - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
    deltas[0] = -math.expm1(-steps * interval)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(interval, grid, np.minimum.accumulate(deltas))
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def gaussian(rho: float, interval: float) -> Any:
    """Of a Gaussian mechanism; mechanisms of any scales compose exactly into one."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(
        1 / math.sqrt(2 * rho), value_discretization_interval=interval, use_connect_dots=True
    )


def sampled_gaussian(noise: float, rate: float, steps: int, interval: float) -> Any:
    """Of so many steps of a Gaussian mechanism on Poisson samples."""
    from dp_accounting.pld import privacy_loss_distribution

    one = privacy_loss_distribution.from_gaussian_mechanism(
        noise, value_discretization_interval=interval, sampling_prob=rate, use_connect_dots=True
    )
    return one.self_compose(steps)
