"""Find the noise that buys a promise, by search over an accountant instead of a formula for each algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import Accountant
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event


def calibrate(
    make_events: Callable[[float], Sequence[Event]],
    budget: Budget,
    accountant: Accountant,
    *,
    tolerance: float = 1e-6,
) -> float:
    """The smallest noise scale whose events stay within (ε, δ), to a relative `tolerance`, never below it.

    `make_events(scale)` must cost less as `scale` grows.
    """

    def fits(scale: float) -> bool:
        return accountant.epsilon(make_events(scale), budget.delta) <= budget.epsilon

    high = 1.0
    while not fits(high):
        high *= 2
        if high > 1e12:
            raise UsageError(f"no noise scale up to 1e12 reaches {budget.in_words()} under {accountant.name}")
    low = high / 2
    while low > 1e-12 and fits(low):
        low, high = low / 2, low
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
