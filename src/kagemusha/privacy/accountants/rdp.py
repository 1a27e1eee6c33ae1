"""Rényi DP on a grid of orders, then the conversion of Canonne, Kamath and Steinke."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from kagemusha.privacy.accountants.protocol import Accountant
from kagemusha.privacy.events import Event

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


class RDP(Accountant):
    """Adds Rényi divergences order by order."""

    name = "rdp"
    words = "Rényi DP"

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        if not all(event.is_protected for event in events):
            return math.inf
        left = delta - float(sum(event.delta for event in events))
        # sampled steps are exact at whole orders, and slow and loose between them
        sampled = any(event.sampled_steps for event in events)
        orders = tuple(a for a in ORDERS if a == int(a) and a <= 1024) if sampled else ORDERS
        return rdp_epsilon(orders, renyi_curve(events, orders), left)


def renyi_curve(events: Iterable[Event], orders: Sequence[float]) -> list[float]:
    """Σ of the events' divergences at each order; equal events are worked out once."""
    linear, others = Fraction(0), Counter[Event]()
    for event in events:
        if type(event).renyi is Event.renyi and event.rho is not None:
            linear += event.rho
        else:
            others[event.cost_alone] += 1
    rho = float(linear) * (1 + 1e-12)
    return [a * rho + sum(times * event.renyi(a) for event, times in others.items()) for a in orders]
