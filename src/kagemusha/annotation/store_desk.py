"""The loop's desk over a store: questions go to people, labels come back, whatever is restarted in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kagemusha.annotation.agreement import usable
from kagemusha.annotation.desk import Answers
from kagemusha.annotation.store import Store
from kagemusha.arrays import IntArray

Show = Callable[[IntArray], list[list[dict[str, Any]]]]
"""Codes of records → for each, what is shown of every column."""

POLL = 0.2
"""Seconds between two looks for new labels."""


class StoreDesk:
    """Waits for people.

    `shared` is the share of records that two people are asked about, so that their agreement is seen.
    """

    def __init__(
        self,
        store: Store,
        classes: int,
        show: Show,
        *,
        shared: float = 0.0,
        rested: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._classes, self._show, self._shared, self._rested = store, classes, show, shared, rested
        self._number = self._quota = 0

    def begin(self, number: int, pool: IntArray, held: IntArray, quota: int) -> None:
        """Write the pool down, unless this round was begun before."""
        self._number, self._quota = number, quota
        aside = set(held.tolist())
        rng = np.random.default_rng([7, number])
        twice = rng.random(len(pool)) < self._shared
        shown = self._show(pool)
        self._store.begin(
            number,
            quota,
            [
                (row.tolist(), card, i in aside, 1 + int(twice[i]))
                for i, (row, card) in enumerate(zip(pool, shown, strict=True))
            ],
        )

    def pool(self) -> IntArray:
        """The records of this round."""
        return np.array(self._store.pool(self._number), dtype=np.int64)

    def open(self) -> IntArray:
        """Positions nobody has answered."""
        return np.array(self._store.untouched(self._number), dtype=np.int64)

    def ask(self, positions: IntArray) -> None:
        """Queue them."""
        self._store.ask(self._number, positions.tolist())

    def wait(self, more: int) -> int:
        """Look for labels now and then until there are enough, in this round or in all.

        Then nobody is asked any more.
        """
        start = self._store.counted(self._number)
        wanted = min(start + more, self._quota)
        while (now := self._store.counted(self._number)) < wanted and not self._store.enough():
            self._rested()
            time.sleep(POLL)
        return now

    def answers(self, *, held: bool = False) -> Answers:
        """What stands."""
        found = usable(self._store.said(), held=held)
        if not found:
            return Answers(np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64))
        return Answers(
            np.array([codes for codes, _ in found], dtype=np.int64),
            np.array([int(a) for _, a in found], dtype=np.int64),
        )

    def remembered(self, name: str, make: Callable[[], list[int]]) -> list[int]:
        """On disk before it is used."""
        kept = self._store.fact(name)
        if kept is None:
            kept = make()
            self._store.keep(**{name: kept})
        return [int(number) for number in kept]

    def spent(self, share: float) -> None:
        """Shown on the page."""
        self._store.keep(spent=share)

    def judged(self, right: int, of: int) -> None:
        """Shown on the page, with the range it may lie in."""
        low, high = wilson(right, of)
        self._store.keep(quality={"right": right, "of": of, "low": low, "high": high})


def wilson(right: int, of: int, deviations: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval for a share."""
    share, square = right / of, deviations**2
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = deviations / (1 + square / of) * (share * (1 - share) / of + square / (4 * of**2)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)
