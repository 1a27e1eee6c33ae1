"""The durable record of everything spent on a data set, and the cap nobody can pass.

A release *opens* by reserving its whole budget under the data set's cap. Each step then *charges* part of that
reservation, is computed, and *publishes* its answer. A crash leaves the reservation spent. A retry of the same
step returns the stored answer, never fresh noise. Closing gives back what was never charged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.adjacency import Adjacency
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event
from kagemusha.privacy.filter import UNIT, UNLIMITED, Cost, limit_of

NOTHING = Fraction(0)


@dataclass(frozen=True)
class Cap:
    """The most that all releases of a data set under a policy may cost together."""

    dataset: str
    policy: str
    budget: Budget

    def limit(self, accountings: set[Accounting], aside: Fraction = NOTHING) -> int:
        """The cap in integer units of ρ for a history that used these accountings and `aside` of δ for thresholds.

        A history of exactly Gaussian releases converts by Gaussian DP. Everything else, mixed or pure, converts
        by zCDP, which holds them all (pure ε-DP is ε²/2-zCDP).
        """
        accounting = Accounting.GDP if accountings == {Accounting.GDP} else Accounting.ZCDP
        share = float(aside / Fraction(self.budget.delta)) if aside else 0.0
        return limit_of(self.budget, accounting, delta_share=share).units if share < 1 else 0


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
                "adjacency": self.budget.adjacency,
                "accounting": self.accounting,
                "details": dict(self.details or {}),
                **({"delta share": self.delta_share} if self.delta_share else {}),
            },
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def reservation(self) -> int:
        """What the release reserves, in integer units of ρ."""
        units = limit_of(self.budget, self.accounting, delta_share=self.delta_share).units
        if self.accounting is Accounting.PURE and units < UNLIMITED:
            # ε²/2; the margin covers the rounding of up to a thousand steps
            return units * units // (2 * UNIT) + 1000
        return units


@dataclass(frozen=True)
class ReleaseRecord:
    """One release as the ledger knows it; costs are in integer units of ρ (10⁻¹⁵)."""

    id: str
    dataset: str
    policy: str
    method: str
    accounting: Accounting
    adjacency: Adjacency
    epsilon: float
    delta: float
    reserved: int
    charged: int
    closed: bool
    opened_at: str
    certificate: str | None
    """Digests of the certificates it went out under, separated by blanks."""

    @property
    def held(self) -> int:
        """What this release takes from the cap: all it reserved until closed, then what it charged."""
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

    def close_release(self, release: str, certificate: str | None = None) -> None:
        """Give back what was never charged."""
        ...

    def releases(self) -> list[ReleaseRecord]:
        """All releases, oldest first."""
        ...

    def steps(self, release: str) -> list[StepRecord]:
        """All charged steps of a release, in order."""
        ...
