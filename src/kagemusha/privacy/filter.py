"""The refusing filter: holds a release's budget and says no before a read, never after.

Costs are integers in units of 10⁻¹⁵, rounded up; limits are rounded down. So a sum can be trusted to the last
digit, and the same integers go into the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kagemusha.errors import BudgetExceeded, PrivacyError, UsageError
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event

UNIT = 10**15
"""Units of cost in one: a cost of 1.0 (in ρ, or in ε for pure DP) is this many integer units."""

DELTA_UNIT = 10**18
"""Units of δ in one."""

UNLIMITED = 2**62
"""Stands for 'no limit' where an integer is needed; every finite release stays below it, and so do all costs that a
ledger keeps in 64 bits."""


@dataclass(frozen=True)
class Cost:
    """What one or several events cost, in integer units, rounded up."""

    units: int
    delta_units: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.units + other.units, self.delta_units + other.delta_units)


def cost_of(event: Event, accounting: Accounting) -> Cost:
    """The event's cost under an accounting; an event the accounting cannot hold is a PrivacyError.

    An unprotected event costs nothing here because no number would be enough: the certificate says ε = ∞.
    """
    if not event.is_protected:
        return Cost(0)
    accountant = ACCOUNTANTS[accounting]
    amount = accountant.amount(event)
    if amount is None:
        why = f"{accounting} accounting cannot hold a step of kind {event.kind!r} ({event.what}){accountant.refusal}"
        raise PrivacyError(why)
    return Cost(math.ceil(amount * UNIT), math.ceil(event.delta * DELTA_UNIT))


def limit_of(budget: Budget, accounting: Accounting, *, delta_share: float = 0.0) -> Cost:
    """The largest total cost that keeps (ε, δ), rounded down; `delta_share` of δ is set aside for thresholds."""
    if not budget.is_finite:
        return Cost(UNLIMITED, UNLIMITED)
    accountant = ACCOUNTANTS[accounting]
    if budget.delta <= 0 and not accountant.pure:
        raise UsageError(f"delta must be greater than 0 for {accounting} accounting; δ = 0 needs pure DP")
    aside = 0.0 if accountant.pure else budget.delta * delta_share
    amount = accountant.limit(budget.epsilon, budget.delta - aside)
    return Cost(math.floor(Fraction(amount) * UNIT), math.floor(Fraction(aside) * DELTA_UNIT))


def release_limit(budget: Budget, accounting: Accounting, *, delta_share: float = 0.0) -> Cost:
    """The limit of one release; refuses a finite ε so large that its cost cannot be counted (and protects nobody)."""
    most = ACCOUNTANTS[accounting].most_epsilon(UNLIMITED / UNIT * (1 - 1e-9), budget.delta)
    if budget.is_finite and budget.epsilon > most:
        raise UsageError(
            f"epsilon must be greater than 0 and at most {math.floor(most)} for {accounting} accounting with "
            f"δ = {budget.delta:g}, got {budget.epsilon:g}"
        )
    return limit_of(budget, accounting, delta_share=delta_share)


def schedule_limit(budget: Budget, schedule: Sequence[Event]) -> Cost:
    """The steps of a declared schedule, if numerical composition says that all of them together keep (ε, δ)."""
    if not schedule:
        raise UsageError("schedule accounting needs the steps of the release, declared beforehand")
    total = ACCOUNTANTS[Accounting.SCHEDULE].epsilon(schedule, budget.delta)
    if not total <= budget.epsilon:
        raise BudgetExceeded(
            f"the declared schedule of {len(schedule)} steps costs ε = {total:.4g} at δ = {budget.delta:g}, more than "
            f"the ε = {budget.epsilon:g} that was asked for; nothing was read"
        )
    return sum((cost_of(event, Accounting.SCHEDULE) for event in schedule), Cost(0))


class Filter:
    """Holds one release's budget; `charge` refuses what would pass it.

    Why refusing is enough although steps are chosen after seeing answers, each accountant says. A schedule: the
    declared steps in their order and nothing else, checked together beforehand.
    """

    def __init__(
        self, budget: Budget, accounting: Accounting, *, delta_share: float = 0.0, schedule: Sequence[Event] = ()
    ) -> None:
        self.budget = budget
        self.accounting = accounting
        self.schedule = tuple(schedule)
        self.limit = (
            schedule_limit(budget, self.schedule)
            if ACCOUNTANTS[accounting].declared
            else release_limit(budget, accounting, delta_share=delta_share)
        )
        self._spent = Cost(0)
        self._events: list[Event] = []

    @property
    def spent(self) -> Cost:
        """What was charged so far."""
        return self._spent

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event charged, in order."""
        return tuple(self._events)

    @property
    def total(self) -> float:
        """The whole budget in ρ (in ε for pure DP)."""
        return math.inf if self.limit.units >= UNLIMITED else self.limit.units / UNIT

    @property
    def remaining(self) -> float:
        """What is left, in ρ (in ε for pure DP), rounded down."""
        left = self.limit.units - self._spent.units
        return math.inf if self.limit.units >= UNLIMITED else math.nextafter(left / UNIT, 0.0) if left else 0.0

    def check(self, events: Sequence[Event]) -> list[Cost]:
        """The cost of each event, or BudgetExceeded; charges nothing."""
        costs = [cost_of(event, self.accounting) for event in events]
        if ACCOUNTANTS[self.accounting].declared:
            self._require_declared([event for event in events if event.is_protected])
        total = sum(costs, self._spent)
        if total.units > self.limit.units or total.delta_units > self.limit.delta_units:
            raise BudgetExceeded(
                f"this step needs {sum(c.units for c in costs) / UNIT:.3g} of privacy budget but only "
                f"{self.remaining:.3g} of {self.total:.3g} is left ({self.accounting}); nothing was read"
            )
        return costs

    def charge(self, events: Sequence[Event]) -> list[Cost]:
        """Charge all events or none."""
        costs = self.check(events)
        self._spent = sum(costs, self._spent)
        self._events.extend(events)
        return costs

    def _require_declared(self, events: Sequence[Event]) -> None:
        made = sum(event.is_protected for event in self._events)
        declared = self.schedule[made : made + len(events)]
        if [e.cost_alone for e in declared] != [e.cost_alone for e in events]:
            raise PrivacyError("this step is not the next one of the schedule that was declared; nothing was read")
