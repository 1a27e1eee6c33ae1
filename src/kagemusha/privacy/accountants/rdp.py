"""Rényi DP on a grid of orders, then the conversion of Canonne, Kamath and Steinke."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kagemusha.privacy.events import Event, LaplaceEvent

ORDERS = tuple(
    sorted(
        {1 + x / 100 for x in range(1, 100)}
        | {2 + x / 10 for x in range(80)}
        | {float(2**k) for k in range(3, 25)}
        | {float(x) for x in range(10, 512)}
    )
)


def rdp_epsilon(orders: Sequence[float], values: Sequence[float], delta: float) -> float:
    """The best (ε, δ) conversion over the given orders; each order alone is valid."""
    if delta <= 0:
        return 0.0 if all(value == 0 for value in values) else math.inf
    best = math.inf
    for alpha, value in zip(orders, values, strict=True):
        epsilon = value + (-math.log(delta) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)) / (alpha - 1)
        best = min(best, epsilon)
    return max(0.0, best)


def pure_rdp(alpha: float, epsilon: float) -> float:
    """The largest Rényi divergence of order α that ε-DP allows: randomised response.

    The discrete Laplace mechanism attains it for a shift of one (its loss takes only the values ±1/b), so the
    smaller formula for continuous Laplace noise would be wrong here.
    """
    agree, differ = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    a = alpha * agree + (1 - alpha) * differ
    b = alpha * differ + (1 - alpha) * agree
    high = max(a, b)
    return (high + math.log(math.exp(a - high) + math.exp(b - high))) / (alpha - 1)


def event_rdp(event: Event, alpha: float) -> float:
    """The event's Rényi DP at order α."""
    if event.rho is None:
        return math.inf
    zcdp = alpha * float(event.rho)
    if isinstance(event, LaplaceEvent):
        return min(zcdp, pure_rdp(alpha, float(event.pure_epsilon)))
    return zcdp


class RDP:
    """Adds Rényi divergences order by order."""

    name = "rdp"

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        """ε of all events together at δ."""
        if any(event.rho is None for event in events):
            return math.inf
        left = delta - float(sum(event.delta for event in events))
        linear = sum(float(e.rho or 0) for e in events if not isinstance(e, LaplaceEvent))
        laplace = Counter(replace(e, what="") for e in events if isinstance(e, LaplaceEvent))
        values = [
            a * linear * (1 + 1e-12) + sum(times * event_rdp(e, a) for e, times in laplace.items()) for a in ORDERS
        ]
        return rdp_epsilon(ORDERS, values, left)
