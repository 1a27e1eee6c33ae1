"""ε in words a board understands: the best any attacker can do at telling whether one person is in the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from kagemusha.privacy.accountants import Accounting, gdp_epsilon, gdp_mu, zcdp_delta, zcdp_epsilon, zcdp_rho
from kagemusha.privacy.budget import Budget

GROUPS = (2, 5, 10)
FALSE_POSITIVE_RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Consequence:
    """At a given false-positive rate, no attacker reaches a higher true-positive rate than this."""

    false_positive_rate: float
    true_positive_rate: float


def _hockey_stick(fpr: float, epsilon: float, delta: float) -> float:
    """The bound an (ε, δ) pair puts on the true-positive rate, from both directions of the definition."""
    direct = math.exp(min(700.0, epsilon)) * fpr + delta
    reverse = 1 - math.exp(-epsilon) * (1 - delta - fpr)
    return min(1.0, direct, reverse)


@lru_cache(maxsize=64)
def best_true_positive_rate(budget: Budget, accounting: Accounting, fpr: float, *, aside: float = 0.0) -> float:
    """The largest true-positive rate any attacker can reach at this false-positive rate.

    The whole privacy curve behind the promise is used, not just the one (ε, δ) point on it; of δ, `aside` was spent
    outside the curve.
    """
    if not budget.is_finite:
        return 1.0
    bound = _hockey_stick(fpr, budget.epsilon, budget.delta)
    if accounting is Accounting.GDP and budget.delta > 0:
        from scipy.special import ndtr, ndtri

        # outside an event of probability `aside` the release is Gaussian-DP
        inside = min(1.0, fpr / (1 - aside))
        return min(bound, aside + float(ndtr(ndtri(inside) + gdp_mu(budget.epsilon, budget.delta - aside))))
    if accounting is Accounting.ZCDP and budget.delta > 0:
        rho = zcdp_rho(budget.epsilon, budget.delta - aside)
        steps = (budget.epsilon * 1.5 * k / 200 for k in range(201))
        return min(bound, *(_hockey_stick(fpr, epsilon, aside + zcdp_delta(rho, epsilon)) for epsilon in steps))
    return bound


def consequences(budget: Budget, accounting: Accounting = Accounting.ZCDP, *, aside: float = 0.0) -> list[Consequence]:
    """The bound at a few false-positive rates a reader knows."""
    return [Consequence(f, best_true_positive_rate(budget, accounting, f, aside=aside)) for f in FALSE_POSITIVE_RATES]


@dataclass(frozen=True)
class GroupPromise:
    """What is left of a promise for someone with several rows; ε is infinite where nothing is."""

    rows: int
    epsilon: float
    delta: float


def group_promise(budget: Budget, accounting: Accounting, rows: int, *, aside: float = 0.0) -> GroupPromise:
    """The promise for a person with `rows` rows.

    With k rows a whole curve moves: k·μ for Gaussian DP (Dong, Roth and Su 2022), k²·ρ for zCDP (Bun and Steinke
    2016), k·ε for pure DP. A declared schedule, and what thresholds put `aside` of δ, have no such curve: there
    (k·ε, δ·Σ e^{iε}) holds, as for any promise.
    """
    epsilon, delta = budget.epsilon, budget.delta
    if not budget.is_finite or accounting is Accounting.PURE:
        return GroupPromise(rows, rows * epsilon, delta)
    if aside or accounting is Accounting.SCHEDULE:
        delta *= sum(math.exp(min(700.0, i * epsilon)) for i in range(rows))
        return GroupPromise(rows, rows * epsilon if delta < 1 else math.inf, min(1.0, delta))
    if accounting is Accounting.GDP:
        return GroupPromise(rows, gdp_epsilon(rows * gdp_mu(epsilon, delta), delta), delta)
    return GroupPromise(rows, zcdp_epsilon(rows**2 * zcdp_rho(epsilon, delta), delta), delta)


def in_words(budget: Budget, accounting: Accounting = Accounting.ZCDP, *, aside: float = 0.0) -> str:
    """One sentence for a reader who is not an expert."""
    if not budget.is_finite:
        return "There is no limit on what an attacker could learn about one person."
    rate = best_true_positive_rate(budget, accounting, 0.05, aside=aside)
    return (
        "Even an attacker who knows everyone else's record, and who accepts being wrong about 5 of 100 people who are "
        f"not in the table, can recognise at most {100 * rate:.1f} of 100 people who are (guessing alone gives 5)."
    )
