"""What events cost together, as one thing that can be added up and read in every accounting.

ρ for zCDP, μ for Gaussian DP, ε for pure DP, a curve for Rényi DP. Releases of one table are chosen after seeing
earlier ones, so a cap over them needs a rule of addition that is valid for adaptive choices (`CapRule`); numerical
composition is not, and holds only inside a schedule that was declared beforehand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import gdp_epsilon, gdp_mu
from kagemusha.privacy.accountants.zcdp import best_order, zcdp_epsilon, zcdp_rho
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event

NOTHING = Fraction(0)


@dataclass(frozen=True)
class Spend:
    """The cost of several events: ρ of exactly Gaussian ones, ρ of other zCDP ones, all others by kind, and δ aside."""

    gaussian: Fraction = NOTHING
    concentrated: Fraction = NOTHING
    others: Counter[Event] = field(default_factory=Counter)
    """Events whose Rényi curve is no line (pure ones, sampled ones, drawn rows), and how often."""
    aside: Fraction = NOTHING
    """What thresholds took of δ; no curve covers it."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Spend:
        """The cost of these events; reads without protection have none that a number could hold and are left out."""
        gaussian, concentrated, aside, others = NOTHING, NOTHING, NOTHING, Counter[Event]()
        for event in events:
            aside += event.delta
            if not event.is_protected:
                continue
            if event.is_gaussian and event.rho is not None and event.drawn_rows is None:
                gaussian += event.rho
            elif event.pure_epsilon is None and event.rho is not None:
                concentrated += event.rho
            else:
                others[event.cost_alone] += 1
        return cls(gaussian, concentrated, others, aside)

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.gaussian + other.gaussian,
            self.concentrated + other.concentrated,
            self.others + other.others,
            self.aside + other.aside,
        )

    def __bool__(self) -> bool:
        return bool(self.gaussian or self.concentrated or self.others or self.aside)

    def renyi(self, alpha: float) -> float:
        """Rényi DP of order α; holds every event."""
        line = alpha * float(self.gaussian + self.concentrated) * (1 + 1e-12)
        return line + sum(times * event.renyi(alpha) for event, times in self.others.items())

    @property
    def pure_epsilon(self) -> Fraction | None:
        """ε of all of it under pure DP; None if anything is not purely private."""
        if self.gaussian or self.concentrated or self.aside:
            return None
        costs = [None if e.pure_epsilon is None else times * e.pure_epsilon for e, times in self.others.items()]
        return None if None in costs else sum((cost for cost in costs if cost is not None), NOTHING)

    @property
    def rho(self) -> Fraction | None:
        """ρ of all of it under zCDP; None if anything has no such guarantee. Pure ε-DP is ε²/2-zCDP, and ε-zCDP too."""
        total = self.gaussian + self.concentrated
        for event, times in self.others.items():
            if event.rho is None:
                return None
            total += times * (event.rho if event.pure_epsilon is None else min(event.rho, event.pure_epsilon))
        return total

    @property
    def gaussian_rho(self) -> Fraction | None:
        """μ²/2 of all of it under Gaussian DP; None if anything has no such guarantee.

        ε-DP is dominated by μ-GDP with Φ(−μ/2) = 1/(1 + e^ε): both trade-off curves pass through (0, 1) and that fixed
        point, where the first is a straight line and the second convex (Dong, Roth and Su 2022, Proposition 2.5).
        """
        if self.concentrated or any(event.pure_epsilon is None for event in self.others):
            return None
        pure = sum(times * pure_as_gaussian(float(e.pure_epsilon or 0)) for e, times in self.others.items())
        return self.gaussian + Fraction(pure)


def pure_as_gaussian(epsilon: float) -> float:
    """ρ = μ²/2 of a Gaussian mechanism that dominates every ε-DP mechanism, rounded up."""
    from scipy.special import expit, ndtri

    # beyond what a double can hold, Φ(−t) ≤ e^(−t²/2)/2 with t = √(2ε) is enough
    mu = -2 * float(ndtri(expit(-epsilon))) if epsilon < 600 else 2 * math.sqrt(2 * epsilon)
    return mu * mu / 2 * (1 + 1e-9)


class CapRule(StrEnum):
    """How the releases under one cap add up. It is fixed before the first of them is made.

    `zcdp`: Σρ ≤ ρ (Feldman and Zrnic 2021). Holds all but sampled steps.
    `gdp`: Σμ² ≤ μ² (Smith and Thakurta 2022). Holds exactly Gaussian releases, and pure ones by what dominates them.
    `renyi`: Σ of Rényi divergences at some of a few orders fixed by the cap; holds everything.
    `pure`: Σε. Holds pure releases only, for caps with δ = 0.
    """

    ZCDP = "zcdp"
    GDP = "gdp"
    RENYI = "renyi"
    PURE = "pure"

    @classmethod
    def named(cls, name: str) -> CapRule:
        """The rule of that name; any other name is a UsageError."""
        try:
            return cls(name)
        except ValueError:
            raise UsageError(f"rule must be one of {', '.join(cls)}, got {name!r}") from None

    def used(self, spend: Spend, budget: Budget) -> float:
        """How much of (ε, δ) is taken: 1 is all of it, infinity is what this rule cannot hold at all."""
        if not budget.is_finite or not spend:
            return 0.0
        left = budget.delta - float(spend.aside)
        if self is CapRule.PURE:
            return _ratio(spend.pure_epsilon, budget.epsilon)
        if left <= 0:
            return math.inf
        if self is CapRule.ZCDP:
            return _ratio(spend.rho, zcdp_rho(budget.epsilon, left))
        if self is CapRule.GDP:
            return _ratio(spend.gaussian_rho, gdp_mu(budget.epsilon, left) ** 2 / 2)
        return min(_share(spend, budget, alpha, left * weight) for alpha, weight in orders_of(budget))

    def epsilon(self, spend: Spend, budget: Budget) -> float:
        """ε of all of it at the budget's δ, as this rule adds it up."""
        if not spend:
            return 0.0
        left = budget.delta - float(spend.aside)
        if self is CapRule.PURE:
            return math.inf if spend.pure_epsilon is None else float(spend.pure_epsilon)
        if left <= 0:
            return math.inf
        if self is CapRule.ZCDP:
            return math.inf if spend.rho is None else zcdp_epsilon(float(spend.rho) * (1 + 1e-12), left)
        if self is CapRule.GDP:
            rho = spend.gaussian_rho
            return math.inf if rho is None else gdp_epsilon(math.sqrt(2 * float(rho)) * (1 + 1e-12), left)
        return max(0.0, min(spend.renyi(a) + price_of_order(a, left * weight) for a, weight in orders_of(budget)))


def _ratio(spent: Fraction | None, limit: float) -> float:
    if spent is None or limit <= 0:
        return math.inf
    # exact, and rounded up only where it is not all of it: a release may take a cap to the last unit
    ratio = spent / Fraction(limit)
    return float(ratio) if ratio <= 1 else max(float(ratio), math.nextafter(1.0, 2.0))


def _share(spend: Spend, budget: Budget, alpha: float, delta: float) -> float:
    room = budget.epsilon - price_of_order(alpha, delta)
    return spend.renyi(alpha) / room if room > 0 else math.inf


def price_of_order(alpha: float, delta: float) -> float:
    """What turning a Rényi divergence of order α into ε at δ adds (Canonne, Kamath and Steinke 2020)."""
    return (-math.log(delta) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)) / (alpha - 1)


def orders_of(budget: Budget) -> list[tuple[float, float]]:
    """The orders a cap looks at, and the share of δ each may fail with; they add up to one.

    Why shares: at each order alone, stopping before Σ passes a limit is a valid filter (Feldman and Zrnic 2021). Which
    order still has room may depend on the answers. Let A_j be the run stopped where order j passes its limit. A run
    that ends with room at order j is a run of A_j, so the part of δ(ε) that such runs add is at most δ_j(ε) of A_j, and
    all together at most Σ_j δ_j = δ. Half of δ is for the order at which a Gaussian history would use the cap up.
    """
    best = best_order(zcdp_rho(budget.epsilon, budget.delta), budget.epsilon)
    grid = sorted({_whole(1 + (best - 1) * 2 ** (k / 2)) for k in range(-3, 6) if k})
    main = _whole(best)
    others = [alpha for alpha in grid if alpha != main and alpha > 1]
    return [(main, 0.5 if others else 1.0), *((alpha, 0.5 / len(others)) for alpha in others)]


def _whole(alpha: float) -> float:
    """Sampled steps are exact at whole orders only."""
    return float(round(alpha)) if alpha > 3 else alpha
