"""The durable record of everything spent on a data set, and the cap nobody can pass.

A release *opens* by reserving its whole budget under the data set's cap. Each step then *charges* part of that
reservation, is computed, and *publishes* its answer. A crash leaves the reservation spent. A retry of the same
step returns the stored answer, never fresh noise. Closing gives back what was never charged.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.adjacency import Adjacency
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event
from kagemusha.privacy.filter import UNIT, UNLIMITED, Cost, limit_of, release_limit

NOTHING = Fraction(0)


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
    fingerprint: str | None = None
    """Digest of the table, where it has one. Private; no part of the identity: the same release of a table that changed
    in between is refused."""

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
        units = release_limit(self.budget, self.accounting, delta_share=self.delta_share).units
        if self.accounting is Accounting.PURE and units < UNLIMITED:
            # ε²/2 or ε, see `step_units`; the margin covers the rounding of up to a thousand steps
            return min(units, units * units // (2 * UNIT)) + 1000
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
class Spent:
    """What all finite releases of a data set under one policy take together."""

    units: int
    """In integer units of ρ."""
    epsilon: Fraction
    """The promised epsilons added up: what a history of pure releases costs."""
    accountings: frozenset[Accounting]
    adjacencies: frozenset[Adjacency]
    aside: Fraction
    """What thresholds took of δ; no ρ covers it, so a cap must leave it free."""

    @classmethod
    def by(cls, records: Iterable[ReleaseRecord], aside: Fraction) -> Spent:
        """The sum over these releases, without those that read nothing and those of ε = ∞, for which no number would do."""
        finite = [record for record in records if math.isfinite(record.epsilon) and record.held]
        return cls(
            units=sum(r.held for r in finite),
            epsilon=sum((Fraction(r.epsilon) for r in finite), NOTHING),
            accountings=frozenset(r.accounting for r in finite),
            adjacencies=frozenset(r.adjacency for r in finite),
            aside=aside,
        )

    @property
    def is_pure(self) -> bool:
        """Whether no release needed a δ, so that epsilons may be added."""
        return self.accountings <= {Accounting.PURE} and not self.aside

    def and_also(self, request: ReleaseRequest) -> Spent:
        """The sum if this release is admitted."""
        return replace(
            self,
            units=self.units + request.reservation,
            epsilon=self.epsilon + Fraction(request.budget.epsilon),
            accountings=self.accountings | {request.accounting},
            aside=self.aside + Fraction(request.delta_share) * Fraction(request.budget.delta),
        )


@dataclass(frozen=True)
class Cap:
    """The most that all releases of a data set under a policy may cost together.

    With δ = 0 it holds pure releases only, and their epsilons add up.
    """

    dataset: str
    policy: str
    budget: Budget

    def limit(self, accountings: Set[Accounting], aside: Fraction = NOTHING) -> int:
        """The cap in integer units of ρ for a history that used these accountings and `aside` of δ for thresholds.

        A history of exactly Gaussian releases converts by Gaussian DP. Everything else, mixed or pure, converts
        by zCDP, which holds them all (pure ε-DP is ε²/2-zCDP). A cap with δ = 0 has no such limit.
        """
        accounting = Accounting.GDP if accountings == {Accounting.GDP} else Accounting.ZCDP
        share = float(aside / Fraction(self.budget.delta)) if aside else 0.0
        return limit_of(self.budget, accounting, delta_share=share).units if share < 1 else 0

    def holds(self, spent: Spent) -> bool:
        """Whether all of it together keeps the cap's (ε, δ)."""
        if not self.budget.is_finite:
            return True
        if not self.budget.delta:
            return spent.is_pure and spent.epsilon <= Fraction(self.budget.epsilon)
        return spent.units <= self.limit(spent.accountings, spent.aside)

    def used(self, spent: Spent) -> float:
        """How much of the cap is taken; 1 is all of it, and infinity is more than any cap with this δ could hold."""
        if not self.budget.is_finite:
            return 0.0
        if not self.budget.delta:
            return float(spent.epsilon / Fraction(self.budget.epsilon)) if spent.is_pure else math.inf
        limit = self.limit(spent.accountings, spent.aside)
        return spent.units / limit if limit else math.inf if spent.units else 0.0

    def in_words(self, spent: Spent) -> str:
        """What is taken of a finite cap, for a message."""
        if self.budget.delta:
            limit = self.limit(spent.accountings, spent.aside)
            return f"ρ = {spent.units / UNIT:.4g} of ρ = {limit / UNIT:.4g} ({self.budget.in_words()})"
        impure = "" if spent.is_pure else ", not all of it pure as δ = 0 demands"
        return f"ε = {float(spent.epsilon):.4g} of {self.budget.in_words()}{impure}"


def step_units(event: Event, cost: Cost, accounting: Accounting) -> int:
    """What a step takes of its release's reservation, in integer units of ρ.

    A purely private step is ε²/2-zCDP, and ε-zCDP too, because no Rényi divergence passes ε; that is less above ε = 2.
    """
    if accounting is Accounting.PURE and event.pure_epsilon is not None:
        return min(cost.units, math.ceil(event.pure_epsilon * UNIT))
    return cost.units


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
