"""A ledger for runs that release nothing: no disk, no cap, no chain. Games and audits make thousands of these.

It keeps answers, so that the Curator works as in a release; what it holds is forgotten with the run. `scratch_release`
joins it to simulated noise alone, and it has no head, so that no certificate can be made of what runs on it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.errors import LedgerError
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.chain import Head
from kagemusha.ledger.protocol import ReleaseRecord, ReleaseRequest, StepRecord
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event
from kagemusha.privacy.filter import Cost, Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.release.release import Release
from kagemusha.schema import Schema
from kagemusha.synthesizers.protocol import Synthesizer


class ScratchLedger:
    """Answers of one run in memory."""

    in_memory = True

    path = ":memory:"

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._answers: dict[tuple[str, str], bytes] = {}
        self._checkpoints: dict[tuple[str, str], tuple[int, bytes]] = {}

    def set_cap(self, cap: Cap) -> None:
        """Refused: nothing here is accounted for."""
        raise LedgerError("a scratch ledger has no caps")

    def caps(self) -> list[Cap]:
        """None."""
        return []

    def open_release(self, request: ReleaseRequest) -> ReleaseRecord:
        """A record with a number; nothing is reserved."""
        return ReleaseRecord(
            id=f"scratch-{next(self._numbers)}",
            dataset=request.dataset,
            policy=request.policy,
            method=request.method,
            accounting=request.accounting,
            unit=request.budget.unit,
            epsilon=request.budget.epsilon,
            delta=request.budget.delta,
            reserved=0,
            charged=0,
            closed=False,
            opened_at="",
            certificate=None,
        )

    def charge(self, release: str, steps: Sequence[tuple[str, Event, Cost]]) -> None:
        """The filter has checked it; nothing is written."""

    def answer(self, release: str, key: str) -> bytes | None:
        """What was published in this run."""
        return self._answers.get((release, key))

    def publish(self, release: str, answers: Mapping[str, bytes]) -> dict[str, bytes]:
        """Keep the answers for this run."""
        return {key: self._answers.setdefault((release, key), value) for key, value in answers.items()}

    def save_checkpoint(self, release: str, key: str, number: int, state: bytes) -> None:
        """Keep it for this run."""
        self._checkpoints[release, key] = (number, state)

    def checkpoint(self, release: str, key: str) -> tuple[int, bytes] | None:
        """The last one of this run."""
        return self._checkpoints.get((release, key))

    def close_release(self, release: str, certificate: str | None = None) -> None:
        """Nothing to give back."""

    @property
    def head(self) -> Head:
        """Refused: there is no chain."""
        raise LedgerError("a scratch ledger has no chain")

    def releases(self) -> list[ReleaseRecord]:
        """None that count."""
        return []

    def steps(self, release: str) -> list[StepRecord]:
        """None that count."""
        return []


def scratch_release(
    synthesizer: Synthesizer, schema: Schema, budget: Budget, rng: np.random.Generator, *, delta_share: float = 0.0
) -> Release:
    """A release that is none: reproducible noise, the filter as always, no ledger.

    `delta_share` of δ is set aside for discovery.
    """
    accounting = Accounting(synthesizer.accounting)
    schedule = () if delta_share else synthesizer.schedule_for(schema, budget)
    request = ReleaseRequest("game", synthesizer.name, budget, accounting, schedule=schedule)
    kept = Filter(budget, accounting, delta_share=delta_share, schedule=schedule)
    return Release(request, kept, ScratchLedger(), SimulatedNoise(rng))
