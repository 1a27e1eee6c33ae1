"""How much error a cost buys, before it is spent."""

from __future__ import annotations

import math

from kagemusha.privacy.adjacency import Adjacency, counts_sensitivity

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""E|Z| of a standard normal."""


def cell_error(adjacency: Adjacency, cost: float, mechanism: str = "gaussian") -> float:
    """Expected absolute noise in one cell of a marginal measured at this cost (in ρ)."""
    sensitivity = counts_sensitivity(adjacency)
    if mechanism == "laplace":
        return sensitivity.l1 / math.sqrt(2 * cost)
    return MEAN_ABSOLUTE * math.sqrt(sensitivity.l2_squared / (2 * cost))


def gaussian_sigma(adjacency: Adjacency, cost: float) -> float:
    """Standard deviation of Gaussian noise on counts at this cost (in ρ)."""
    return math.sqrt(counts_sensitivity(adjacency).l2_squared / (2 * cost))
