"""ε in words a board understands: the best any attacker can do at telling whether one person is in the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.accountants.protocol import hockey_stick
from kagemusha.privacy.budget import Budget

GROUPS = (2, 5, 10)
FALSE_POSITIVE_RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Consequence:
    """At a given false-positive rate, no attacker reaches a higher true-positive rate than this."""

    false_positive_rate: float
    true_positive_rate: float


@lru_cache(maxsize=64)
def best_true_positive_rate(budget: Budget, accounting: Accounting, fpr: float, *, aside: float = 0.0) -> float:
    """The largest true-positive rate any attacker can reach at this false-positive rate.

    The whole privacy curve behind the promise is used, not just the one (ε, δ) point on it; of δ, `aside` was spent
    outside the curve.
    """
    if not budget.is_finite:
        return 1.0
    bound = hockey_stick(fpr, budget.epsilon, budget.delta)
    if not budget.delta:
        return bound
    return min(bound, ACCOUNTANTS[accounting].true_positives(budget, fpr, aside))


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

    Where the accountant knows a whole curve, that moves. A declared schedule, and what thresholds put `aside` of δ, have no such
    curve: there (k·ε, δ·Σ e^{iε}) holds, as for any promise.
    """
    epsilon, delta = budget.epsilon, budget.delta
    if not budget.is_finite:
        return GroupPromise(rows, rows * epsilon, delta)
    found = None if aside else ACCOUNTANTS[accounting].group(budget, rows)
    if found is not None:
        return GroupPromise(rows, found, delta)
    delta *= sum(math.exp(min(700.0, i * epsilon)) for i in range(rows))
    return GroupPromise(rows, rows * epsilon if delta < 1 else math.inf, min(1.0, delta))


def in_words(budget: Budget, accounting: Accounting = Accounting.ZCDP, *, aside: float = 0.0) -> str:
    """One sentence for a reader who is not an expert."""
    if not budget.is_finite:
        return "There is no limit on what an attacker could learn about one person."
    rate = best_true_positive_rate(budget, accounting, 0.05, aside=aside)
    return (
        "Even an attacker who knows everyone else's record, and who accepts being wrong about 5 of 100 people who are "
        f"not in the table, can recognise at most {100 * rate:.1f} of 100 people who are (guessing alone gives 5)."
    )
