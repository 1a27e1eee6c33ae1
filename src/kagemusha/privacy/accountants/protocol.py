"""What an accountant is, and which ones may stand behind a guarantee."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event


class Accounting(StrEnum):
    """What may stand behind a guarantee.

    `zcdp`, `gdp` and `pure` have a filter: they stay valid when each step was chosen after seeing earlier answers.
    `schedule` is numerical composition of steps that were all declared before the first one was made.
    """

    ZCDP = "zcdp"
    GDP = "gdp"
    PURE = "pure"
    SCHEDULE = "schedule"


class Accountant(ABC):
    """Turns events into one ε at a given δ."""

    name: ClassVar[str]
    words: ClassVar[str]
    """For the certificate's page."""

    @abstractmethod
    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        """ε of all events together at δ; infinite when the events carry no such guarantee."""


class Composition(Accountant):
    """An accountant by which a release may be accounted for: what a step costs, and how much of that (ε, δ) allows.

    Costs are amounts of ρ unless a subclass says otherwise.
    """

    noise: ClassVar[str] = "rounded"
    """The law of integer Gaussian noise that it holds exactly."""
    pure: ClassVar[bool] = False
    """Whether amounts are of ε, with δ = 0."""
    declared: ClassVar[bool] = False
    """Whether all steps must be declared before the first one."""
    refusal: ClassVar[str] = ""
    """Why it holds no other event, for whoever tries."""
    cap_rule: ClassVar[str] = "zcdp"
    """How a cap adds up that was first used by such a release."""

    @abstractmethod
    def amount(self, event: Event) -> Fraction | None:
        """What a protected event costs; None if it cannot be held."""

    @abstractmethod
    def limit(self, epsilon: float, delta: float) -> float:
        """The largest amount that keeps (ε, δ), rounded down."""

    def most_epsilon(self, amount: float, delta: float) -> float:
        """The ε of an amount at δ: what is larger could not be counted."""
        return amount

    def exponential(self, cost: float) -> float:
        """ε of the exponential mechanism that a cost buys."""
        return math.sqrt(8 * cost)

    def laplace(self, cost: float) -> float:
        """ε of the Laplace mechanism that a cost buys."""
        return math.sqrt(2 * cost)

    def true_positives(self, budget: Budget, false_positives: float, aside: float) -> float:
        """A bound on the rate of true positives of any attacker, from the whole curve behind (ε, δ).

        1 where there is none. `aside` of δ was spent outside the curve.
        """
        return 1.0

    def group(self, budget: Budget, rows: int) -> float | None:
        """ε at the same δ for someone with `rows` rows, from the whole curve; None where there is none."""
        return None


def hockey_stick(false_positives: float, epsilon: float, delta: float) -> float:
    """The bound an (ε, δ) pair puts on the rate of true positives, from both directions of the definition."""
    direct = math.exp(min(700.0, epsilon)) * false_positives + delta
    reverse = 1 - math.exp(-epsilon) * (1 - delta - false_positives)
    return min(1.0, direct, reverse)
