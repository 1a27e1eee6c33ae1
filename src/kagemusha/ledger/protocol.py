"""The durable record of everything spent on a data set.

A release *opens* by reserving its whole budget under the data set's cap. Each step then *charges* part of that
reservation, is computed, and *publishes* its answer. A crash leaves the reservation spent. A retry of the same
step returns the stored answer, never fresh noise. Closing gives back what was never charged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from kagemusha.errors import UsageError
from kagemusha.identity import Identity
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.chain import Head
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import Budget, PrivacyUnit
from kagemusha.privacy.events import Event, LaplaceEvent
from kagemusha.privacy.filter import UNIT, UNLIMITED, Cost, release_limit, schedule_limit
from kagemusha.privacy.spend import Spend

NAMELESS = (
    "the ledger needs a name for this table: pass dataset='…' (--dataset). A frame has none; a PostgreSQL server says "
    "which table it is to users who may EXECUTE pg_control_system(), which everyone may unless that right was revoked"
)


@dataclass(frozen=True)
class ReleaseRequest:
    """Who asks for what. Two requests with equal fields are the same release, so a retry finds its answers."""

    dataset: str
    method: str
    budget: Budget
    accounting: Accounting
    policy: str = "default"
    key: str = ""
    details: Mapping[str, Any] | None = None
    delta_share: float = 0.0
    """Share of δ set aside for thresholds."""
    schedule: Sequence[Event] = ()
    """The steps, where they are declared beforehand."""
    identity: Identity | None = None
    """Digests of the table, where it has any; no part of the release's name: the same release of a table that changed
    in between is refused."""
    inside: bool = False
    """Whether it is a look without protection whose results stay inside, and no release: its owner can forbid it."""

    @property
    def id(self) -> str:
        """A stable name of this release."""
        text = json.dumps(
            {
                "dataset": self.dataset,
                "policy": self.policy,
                "method": self.method,
                "key": self.key,
                "epsilon": repr(self.budget.epsilon),
                "delta": repr(self.budget.delta),
                "adjacency": str(self.budget.unit),
                "accounting": self.accounting,
                "details": dict(self.details or {}),
                **({"delta share": self.delta_share} if self.delta_share else {}),
                **({"schedule": [event.to_json() for event in self.schedule]} if self.schedule else {}),
            },
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def reservation(self) -> int:
        """What the release reserves, in integer units of its own accounting."""
        if ACCOUNTANTS[self.accounting].declared and self.budget.is_finite:
            return schedule_limit(self.budget, self.schedule).units
        return release_limit(self.budget, self.accounting, delta_share=self.delta_share).units

    @property
    def spend(self) -> Spend:
        """What the reservation takes from a cap."""
        aside = Fraction(self.delta_share) * Fraction(self.budget.delta)
        return reserved_spend(self.accounting, self.reservation, self.schedule) + Spend(aside=aside)


def reserved_spend(accounting: Accounting, units: int, schedule: Sequence[Event] = ()) -> Spend:
    """What so many units of an accounting cost at most, whatever steps they are spent on.

    Thresholds' δ is not in it.
    """
    amount = Fraction(units, UNIT)
    if not units or units >= UNLIMITED:
        return Spend()
    accountant = ACCOUNTANTS[accounting]
    if accountant.declared:
        return Spend.of(schedule)
    if accountant.pure:
        return Spend.of([LaplaceEvent(what="", scale=float(UNIT), l1=units)])
    return Spend(concentrated=amount) if accountant.noise == "discrete" else Spend(gaussian=amount)


@dataclass(frozen=True)
class ReleaseRecord:
    """One release as the ledger knows it; costs are in integer units (10⁻¹⁵) of its accounting."""

    id: str
    dataset: str
    policy: str
    method: str
    accounting: Accounting
    unit: PrivacyUnit
    epsilon: float
    delta: float
    reserved: int
    charged: int
    closed: bool
    opened_at: str
    certificate: str | None
    """Digests of the certificates it went out under, separated by blanks."""
    schedule: tuple[Event, ...] = field(default=(), repr=False)

    @property
    def held(self) -> int:
        """What this release takes of its reservation: all of it until closed, then what it charged."""
        return self.charged if self.closed else self.reserved


@dataclass(frozen=True)
class StepRecord:
    """One charged step of a release."""

    release: str
    key: str
    event: Event
    units: int
    answered: bool


class Ledger(Protocol):
    """A store of caps, releases and answers. Every method is one durable transaction."""

    path: str
    """Where it is, as it may be shown."""
    in_memory: bool
    """Whether it is gone with the process."""

    def set_cap(self, cap: Cap) -> None:
        """Set or change a cap; refuses one below what is already held."""
        ...

    def caps(self) -> list[Cap]:
        """All caps."""
        ...

    def open_release(self, request: ReleaseRequest) -> ReleaseRecord:
        """Reserve the request's budget under the cap, or return the release as it already stands."""
        ...

    def charge(self, release: str, steps: Sequence[tuple[str, Event, Cost]]) -> None:
        """Charge steps to a release's reservation, all or none; a step already charged costs nothing again."""
        ...

    def answer(self, release: str, key: str) -> bytes | None:
        """The stored answer of a step, if it was published."""
        ...

    def publish(self, release: str, answers: Mapping[str, bytes]) -> dict[str, bytes]:
        """Store answers of charged steps and return what is stored: the first answer ever given to each."""
        ...

    def save_checkpoint(self, release: str, key: str, number: int, state: bytes) -> None:
        """Keep how far a charged step has come, in place of an earlier checkpoint; it holds released numbers only."""
        ...

    def checkpoint(self, release: str, key: str) -> tuple[int, bytes] | None:
        """The last checkpoint of a step that is not answered yet."""
        ...

    def close_release(self, release: str, certificate: str | None = None) -> None:
        """Give back what was never charged."""
        ...

    @property
    def head(self) -> Head:
        """Where the chain of all changes ends."""
        ...

    def releases(self) -> list[ReleaseRecord]:
        """All releases, oldest first."""
        ...

    def steps(self, release: str) -> list[StepRecord]:
        """All charged steps of a release, in order."""
        ...


def require_named(name: str | None) -> str:
    """The name a ledger knows a table by; two tables of one name would share a cap, and their answers."""
    if name is None:
        raise UsageError(NAMELESS)
    return name
