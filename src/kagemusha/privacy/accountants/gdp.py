"""μ ↔ (ε, δ) for Gaussian differential privacy (Dong, Roth and Su 2022), both ways, rounded to the safe side.

Adaptively chosen Gaussian mechanisms compose into √(Σμᵢ²)-GDP, and stopping before Σμᵢ² passes a limit is a
valid filter although each μᵢ was chosen after seeing earlier outputs (Smith and Thakurta 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

from kagemusha.privacy.accountants.protocol import Composition
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event

_ROUNDING = 1e-15
"""More than one operation on doubles can be wrong by, relative to its size."""


def log_ndtr(x: float) -> float:
    """Log Φ(x); in a small install without scipy, where nothing is charged and releases are only checked, by `math`."""
    try:
        from scipy import special
    except ModuleNotFoundError:
        return _log_ndtr(x)
    return float(special.log_ndtr(x))


def _log_ndtr(x: float) -> float:
    if x > 5:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))
    if x > -30:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    inverse = 1 / (x * x)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse * (1 - 9 * inverse))))
    return -0.5 * x * x - math.log(-x) - 0.5 * math.log(2 * math.pi) + math.log(series)


def gdp_delta(mu: float, epsilon: float, *, rounding: float = _ROUNDING) -> float:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), rounded up by what `rounding` a step can do to it."""
    if mu <= 0:
        return 0.0
    first = log_ndtr(mu / 2 - epsilon / mu)
    second = log_ndtr(-mu / 2 - epsilon / mu)
    if math.isinf(second):  # nothing is left of it, and maybe of neither
        return math.exp(first)
    # where ε is small the two terms agree in most of their digits, and little is left of a double's precision
    error = rounding * (1 + epsilon - first - second)
    return math.exp(min(0.0, first + error)) * -math.expm1(min(0.0, epsilon + second - first - error))


def gdp_epsilon(mu: float, delta: float) -> float:
    """The smallest ε ≥ 0 with δ(ε) ≤ δ, rounded up."""
    if mu <= 0 or gdp_delta(mu, 0.0) <= delta:
        return 0.0
    if delta <= 0 or math.isinf(mu):
        return math.inf
    low, high = 0.0, 1.0
    while gdp_delta(mu, high) > delta:
        high *= 2
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gdp_delta(mu, middle) > delta else (low, middle)
    return high * (1 + 1e-12)


def gdp_mu(epsilon: float, delta: float) -> float:
    """The largest μ that stays within (ε, δ), rounded down."""
    if math.isinf(epsilon):
        return math.inf
    if delta <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while gdp_delta(high, epsilon, rounding=0.0) < delta:
        high *= 2
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gdp_delta(middle, epsilon, rounding=0.0) <= delta else (low, middle)
    # this much also covers the distance between the sampler's fine lattice and a true Gaussian (mechanisms.py);
    # rounding needs more of it below ε = 10⁻³
    margin = 1e-10
    while gdp_delta(low * (1 - margin), epsilon) > delta:
        margin *= 2
    return max(0.0, low * (1 - margin))


class GDP(Composition):
    """Adds μ² over events that are exactly Gaussian; infinite as soon as one is not. Amounts are ρ = μ²/2."""

    name = "gdp"
    words = "Gaussian DP"
    cap_rule = "gdp"

    def amount(self, event: Event) -> Fraction | None:
        """ρ of what is exactly Gaussian."""
        return event.rho if event.is_gaussian else None

    def limit(self, epsilon: float, delta: float) -> float:
        """μ²/2."""
        return gdp_mu(epsilon, delta) ** 2 / 2

    def most_epsilon(self, amount: float, delta: float) -> float:
        """Converted."""
        return gdp_epsilon(math.sqrt(2 * amount), delta)

    def true_positives(self, budget: Budget, false_positives: float, aside: float) -> float:
        """Outside an event of probability `aside` the release is Gaussian-DP."""
        normal, inside = NormalDist(), min(1.0, false_positives / (1 - aside))
        mu = gdp_mu(budget.epsilon, budget.delta - aside)
        if not 0 < inside < 1 or math.isinf(mu):
            return aside + (1.0 if inside == 1 or (inside > 0 and math.isinf(mu)) else 0.0)
        return aside + normal.cdf(normal.inv_cdf(inside) + mu)

    def group(self, budget: Budget, rows: int) -> float:
        """k·μ (Dong, Roth and Su 2022)."""
        return gdp_epsilon(rows * gdp_mu(budget.epsilon, budget.delta), budget.delta)

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        if not all(event.is_gaussian for event in events):
            return math.inf
        rho = sum(float(event.rho or 0) for event in events)
        left = delta - float(sum(event.delta for event in events))
        return gdp_epsilon(math.sqrt(2 * rho) * (1 + 1e-12), left)
