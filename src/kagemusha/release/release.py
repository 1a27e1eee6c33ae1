"""One release: its budget, its place in the ledger, its noise.

Whoever reads private data for a release holds this object, and every step is made here, in one order: charge the
filter, write the charge durably, read, publish the answer. A step that was answered before (a retry after a crash)
returns the stored answer without reading anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from types import TracebackType

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import UsageError
from kagemusha.ledger.protocol import Ledger, ReleaseRequest
from kagemusha.privacy.accountants import ACCOUNTANTS, Accounting
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.privacy.events import Event, GaussianEvent, LaplaceEvent, ThresholdEvent
from kagemusha.privacy.filter import UNIT, Filter
from kagemusha.privacy.mechanisms import Noise
from kagemusha.version import __version__


def affordable(cost: float) -> float:
    """The cost minus the rounding that turning it into a noise scale and back into integer units may add."""
    safe = cost * (1 - 1e-12) - 1 / UNIT
    if not safe > 0:
        raise UsageError(f"a step's share of the budget must be greater than {1 / UNIT:g}, got {cost}")
    return safe


class Release:
    """An open release. Use it as a context: it ends closed, and what was never charged goes back.

    With `hold` a good end leaves it open, for whoever writes its output closes it. A mistake that a retry would only
    repeat (`UsageError`) closes it too. Anything else, a crash or Ctrl-C, leaves it open: the same request goes on from
    what was answered.
    """

    def __init__(
        self, request: ReleaseRequest, budget_filter: Filter, ledger: Ledger, noise: Noise, *, hold: bool = False
    ) -> None:
        self.id = ledger.open_release(request).id
        self.filter = budget_filter
        self.ledger = ledger
        self.noise = noise
        self._hold = hold
        self._asked: dict[str, int] = {}

    def __enter__(self) -> Release:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, UsageError) or (error is None and not self._hold):
            self.ledger.close_release(self.id)

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected: every sensitivity follows from it."""
        return self.filter.budget.unit

    @property
    def accounting(self) -> Accounting:
        """How costs add up in this release."""
        return self.filter.accounting

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything charged so far."""
        return self.filter.events

    @property
    def remaining(self) -> float:
        """What is left of the budget. For choosing a schedule; the filter, not the caller, refuses."""
        return self.filter.remaining

    @property
    def simulated(self) -> bool:
        """Whether the noise is reproducible, so that the run is an experiment and not a release."""
        return self.noise.simulated

    @property
    def gaussian_kind(self) -> str:
        """Which integer Gaussian noise this release's accounting holds exactly."""
        return ACCOUNTANTS[self.accounting].noise

    def draw(self, event: GaussianEvent | LaplaceEvent | ThresholdEvent, size: int) -> IntArray:
        """The noise that the event was charged for."""
        if isinstance(event, LaplaceEvent):
            return self.noise.discrete_laplace(event.scale, size)
        if event.noise == "rounded":
            return self.noise.rounded_gaussian(event.sigma, size)
        return self.noise.discrete_gaussian(event.sigma, size)

    def charge(self, events: Sequence[Event]) -> list[str]:
        """Charge all events or none, durably; returns the name of each step, which a retry finds again."""
        keys = [self._key(event) for event in events]
        costs = self.filter.charge(events)
        self.ledger.charge(self.id, list(zip(keys, events, costs, strict=True)))
        return keys

    def integers(self, events: Sequence[Event], read: Callable[[Sequence[int]], list[IntArray]]) -> list[IntArray]:
        """A step whose answers are integers; see `answers`."""

        def read_bytes(missing: Sequence[int]) -> list[bytes]:
            return [values.astype("<i8").tobytes() for values in read(missing)]

        return [np.frombuffer(a, dtype="<i8").astype(np.int64) for a in self.answers(events, read_bytes)]

    def answers(self, events: Sequence[Event], read: Callable[[Sequence[int]], list[bytes]]) -> list[bytes]:
        """Charge, commit, read, publish. `read` gets the indices of events that have no stored answer yet."""
        keys = self.charge(events)
        stored = [self.ledger.answer(self.id, key) for key in keys]
        missing = [i for i, answer in enumerate(stored) if answer is None]
        if missing:
            fresh = dict(zip((keys[i] for i in missing), read(missing), strict=True))
            published = self.ledger.publish(self.id, fresh)
            stored = [published.get(key, answer) for key, answer in zip(keys, stored, strict=True)]
        return [answer or b"" for answer in stored]

    def _key(self, event: Event) -> str:
        """A name for a step: which code asked which question at which cost, and how often before."""
        text = f"{__version__} {event!r}"  # the event holds the digest of its query
        again = self._asked.get(text, 0)
        self._asked[text] = again + 1
        return hashlib.sha256(f"{again} {text}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
