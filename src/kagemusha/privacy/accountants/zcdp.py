"""ρ ↔ (ε, δ): the conversion of Canonne, Kamath and Steinke (2020), both ways.

δ(ρ, ε) = inf_{α>1} exp((α−1)(αρ−ε)) / (α−1) · (1 − 1/α)^α. Every α gives a valid bound, so an optimiser that
stops early can only make the answer larger, never unsafe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from kagemusha.privacy.accountants.protocol import Composition, hockey_stick
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event


def _log_delta_at(alpha: float, rho: float, epsilon: float) -> float:
    return (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


def best_order(rho: float, epsilon: float) -> float:
    """The minimiser of the bound over α, by bisection on the (increasing) derivative of its logarithm."""

    def slope(alpha: float) -> float:
        return (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha)

    low, high = 1.0 + 1e-15, 2.0
    while slope(high) < 0:
        high *= 2
        if high > 1e18:
            break
    for _ in range(200):
        middle = (low + high) / 2
        if slope(middle) < 0:
            low = middle
        else:
            high = middle
    return max(high, 1.0 + 1e-12)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The smallest δ for which ρ-zCDP implies (ε, δ)-DP by the formula above (at most 1)."""
    if rho <= 0:
        return 0.0
    return min(1.0, math.exp(min(0.0, _log_delta_at(best_order(rho, epsilon), rho, epsilon))))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest ε ≥ 0 for which ρ-zCDP implies (ε, δ)-DP; infinite for δ = 0 unless ρ = 0."""
    if rho <= 0:
        return 0.0
    if delta <= 0 or math.isinf(rho):
        return math.inf
    log_delta = math.log(delta)

    def epsilon_at(alpha: float) -> float:
        return alpha * rho + (-log_delta - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)) / (alpha - 1)

    # epsilon_at is unimodal in log(α−1) (it is the lower envelope's dual); golden section finds its minimum
    best = golden_section(lambda t: epsilon_at(1 + math.exp(t)), -30.0, 50.0)
    return max(0.0, epsilon_at(1 + math.exp(best)))


def golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section minimiser of a unimodal function on [low, high]."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(120):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2


@lru_cache(maxsize=4096)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest ρ whose conversion stays within (ε, δ); never above it, not even by rounding."""
    if math.isinf(epsilon):
        return math.inf
    if delta <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while zcdp_epsilon(high, delta) < epsilon:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * high:
            break
    return low * (1 - 1e-12)


class ZCDP(Composition):
    """Adds ρ over events, then converts once.

    Σρ ≤ limit is a valid filter for adaptively chosen ρ (Feldman–Zrnic 2021, Whitehouse et al. 2023).
    """

    name = "zcdp"
    words = "zCDP (sum of ρ, converted once)"
    noise = "discrete"

    def amount(self, event: Event) -> Fraction | None:
        return event.rho

    def limit(self, epsilon: float, delta: float) -> float:
        return zcdp_rho(epsilon, delta)

    def most_epsilon(self, amount: float, delta: float) -> float:
        """Converted."""
        return zcdp_epsilon(amount, delta)

    def true_positives(self, budget: Budget, false_positives: float, aside: float) -> float:
        """From many points of the privacy curve."""
        rho = zcdp_rho(budget.epsilon, budget.delta - aside)
        steps = (budget.epsilon * 1.5 * k / 200 for k in range(201))
        return min(hockey_stick(false_positives, e, aside + zcdp_delta(rho, e)) for e in steps)

    def group(self, budget: Budget, rows: int) -> float:
        """k²·ρ (Bun and Steinke 2016)."""
        return zcdp_epsilon(rows**2 * zcdp_rho(budget.epsilon, budget.delta), budget.delta)

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        total = 0.0
        for event in events:
            if event.rho is None:
                return math.inf
            total += float(event.rho)
        left = delta - float(sum(event.delta for event in events))
        return zcdp_epsilon(total * (1 + 1e-12), left)
