"""How a step of a release is made: charge the filter, write the charge durably, read, publish the answer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.ledger.protocol import Ledger
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.adjacency import Adjacency
from kagemusha.privacy.events import Event, GaussianEvent, LaplaceEvent, ThresholdEvent
from kagemusha.privacy.filter import UNIT, Cost, Filter, cost_of
from kagemusha.privacy.mechanisms import Noise


def affordable(cost: float) -> float:
    """The cost minus the rounding that turning it into a noise scale and back into integer units may add."""
    safe = cost * (1 - 1e-12) - 1 / UNIT
    if not safe > 0:
        raise UsageError(f"a step's share of the budget must be greater than {1 / UNIT:g}, got {cost}")
    return safe


class Account:
    """One release's budget, ledger and noise. Those who read private data for the release share it.

    `asked` is the record of steps asked for so far; whoever goes on with a release takes it over.
    """

    def __init__(
        self, budget_filter: Filter, ledger: Ledger, release: str, noise: Noise, asked: dict[str, int] | None = None
    ) -> None:
        self._filter = budget_filter
        self._ledger = ledger
        self._release = release
        self._noise = noise
        self._asked: dict[str, int] = {} if asked is None else asked
        self._total = budget_filter.remaining if budget_filter.spent.units else budget_filter.total

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency every sensitivity follows."""
        return self._filter.budget.adjacency

    @property
    def accounting(self) -> Accounting:
        """How costs add up in this release."""
        return self._filter.accounting

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything charged so far."""
        return self._filter.events

    @property
    def total(self) -> float:
        """The whole budget: what the release may spend, less what it spent before this part of it began."""
        return self._total

    @property
    def remaining(self) -> float:
        """What is left of the budget. For choosing a schedule; the filter, not the caller, refuses."""
        return self._filter.remaining

    @property
    def simulated(self) -> bool:
        """Whether the noise is reproducible, so that the run is an experiment and not a release."""
        return self._noise.simulated

    def _gaussian_kind(self) -> str:
        return "rounded" if self.accounting is Accounting.GDP else "discrete"

    def _draw(self, event: GaussianEvent | LaplaceEvent | ThresholdEvent, size: int) -> IntArray:
        if isinstance(event, LaplaceEvent):
            return self._noise.discrete_laplace(event.scale, size)
        if event.noise == "rounded":
            return self._noise.rounded_gaussian(event.sigma, size)
        return self._noise.discrete_gaussian(event.sigma, size)

    def _keys(self, events: Sequence[Event]) -> list[str]:
        """A name for each step that a retry of the same run finds again."""
        keys = []
        for event in events:
            text = repr(event)
            again = self._asked.get(text, 0)
            self._asked[text] = again + 1
            keys.append(hashlib.sha256(f"{again} {text}".encode()).hexdigest()[:24])
        return keys

    def _charge(self, events: Sequence[Event], keys: Sequence[str]) -> None:
        costs = self._filter.charge(events)
        if self.accounting is Accounting.PURE:
            # the ledger adds up ρ over releases of every accounting
            costs = [Cost(0) if e.rho is None else cost_of(e, Accounting.ZCDP) for e in events]
        self._ledger.charge(self._release, list(zip(keys, events, costs, strict=True)))

    def _step(self, events: Sequence[Event], read: Callable[[Sequence[int]], list[IntArray]]) -> list[IntArray]:
        """A step whose answers are integers; see `_answers`."""

        def read_bytes(missing: Sequence[int]) -> list[bytes]:
            return [values.astype("<i8").tobytes() for values in read(missing)]

        return [np.frombuffer(a, dtype="<i8").astype(np.int64) for a in self._answers(events, read_bytes)]

    def _answers(self, events: Sequence[Event], read: Callable[[Sequence[int]], list[bytes]]) -> list[bytes]:
        """Charge, commit, read, publish. `read` gets the indices of events that have no stored answer yet."""
        keys = self._keys(events)
        self._charge(events, keys)
        stored = [self._ledger.answer(self._release, key) for key in keys]
        missing = [i for i, answer in enumerate(stored) if answer is None]
        if missing:
            fresh = dict(zip((keys[i] for i in missing), read(missing), strict=True))
            published = self._ledger.publish(self._release, fresh)
            stored = [published.get(key, answer) for key, answer in zip(keys, stored, strict=True)]
        return [answer or b"" for answer in stored]


def deviation(event: GaussianEvent | LaplaceEvent) -> float:
    """Standard deviation of the event's noise (the discrete laws are within a rounding of it)."""
    if isinstance(event, LaplaceEvent):
        return math.sqrt(2) * event.scale
    return event.sigma
