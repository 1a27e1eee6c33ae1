"""Where questions go and labels come from: people in a browser (`store`), or a simulated expert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kagemusha.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Answers:
    """Labelled synthetic records."""

    codes: IntArray
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)


class Desk(Protocol):
    """What the loop needs of those who label. Records are synthetic; nothing private crosses this line."""

    def begin(self, number: int, pool: IntArray, held: IntArray, quota: int) -> None:
        """A round: `pool` may be asked about, positions `held` judge quality, and `quota` labels are wanted.

        A round that was begun before (a restart) goes on with the pool it had.
        """
        ...

    def pool(self) -> IntArray:
        """The records of this round."""
        ...

    def open(self) -> IntArray:
        """Positions in the pool that nobody has answered or queued to be judged by."""
        ...

    def ask(self, positions: IntArray) -> None:
        """Ask about these next, the first one first, instead of what was queued before."""
        ...

    def wait(self, more: int) -> int:
        """Until `more` further labels have come, or the round has its quota, or nobody is asked any more.

        Returns the round's labels. People may be quicker than the loop: a round may have a few labels more than its
        quota.
        """
        ...

    def answers(self, *, held: bool = False) -> Answers:
        """All labels so far that may be trained on, or those held out for judging quality."""
        ...

    def remembered(self, name: str, make: Callable[[], list[int]]) -> list[int]:
        """What was made under this name before, or else what `make` makes now: a restart decides as before."""
        ...

    def spent(self, share: float) -> None:
        """So much of the privacy budget is used."""
        ...

    def judged(self, right: int, of: int) -> None:
        """The newest judge names the class of `right` of `of` held-out records as people do."""
        ...


Oracle = Callable[[IntArray], IntArray]
"""Codes of records → the label of each."""


@dataclass
class SimulatedDesk:
    """An expert who answers at once; for experiments."""

    oracle: Oracle
    heard: Callable[[int, Answers], None] = lambda number, answers: None
    """Called after every batch of labels."""
    given: list[tuple[IntArray, int, bool]] = field(default_factory=list)
    """Records with their labels, and whether they are held out; some may be there from the beginning."""
    _pool: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    _answered: list[int] = field(default_factory=list)
    _queue: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _held: set[int] = field(default_factory=set)
    _quota: int = 0
    _number: int = 0

    def begin(self, number: int, pool: IntArray, held: IntArray, quota: int) -> None:
        """Records held out are labelled first."""
        self._number, self._pool, self._quota = number, pool, quota
        self._answered, self._held = [], set(held.tolist())
        self._label(held[:quota])

    def pool(self) -> IntArray:
        """The records of this round."""
        return self._pool

    def open(self) -> IntArray:
        """What was not asked yet."""
        free = np.ones(len(self._pool), dtype=np.bool_)
        free[[*self._answered, *self._held]] = False
        return np.flatnonzero(free)

    def ask(self, positions: IntArray) -> None:
        """Keep them in mind."""
        self._queue = positions

    def wait(self, more: int) -> int:
        """Label the first of the queue."""
        take = min(more, self._quota - len(self._answered), len(self._queue))
        self._label(self._queue[:take])
        self._queue = self._queue[take:]
        return len(self._answered)

    def answers(self, *, held: bool = False) -> Answers:
        """All labels, of this and earlier rounds."""
        return answers_of([(codes, label) for codes, label, kept in self.given if kept == held])

    def remembered(self, name: str, make: Callable[[], list[int]]) -> list[int]:
        """An experiment is never started again in the middle."""
        return make()

    def spent(self, share: float) -> None:
        """Nobody watches."""

    def judged(self, right: int, of: int) -> None:
        """An experiment knows its own test set."""

    def _label(self, positions: IntArray) -> None:
        if not len(positions):
            return
        codes = self._pool[positions]
        for at, record, label in zip(positions.tolist(), codes, self.oracle(codes), strict=True):
            self._answered.append(at)
            self.given.append((record, int(label), at in self._held))
        self.heard(self._number, self.answers())


def answers_of(given: Sequence[tuple[IntArray, int]]) -> Answers:
    """Records and labels as arrays."""
    if not given:
        return Answers(np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
    return Answers(np.array([codes for codes, _ in given]), np.array([label for _, label in given], dtype=np.int64))
