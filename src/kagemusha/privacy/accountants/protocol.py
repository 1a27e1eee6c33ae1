"""What an accountant is, and which ones may stand behind a guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from kagemusha.privacy.events import Event


class Accountant(Protocol):
    """Turns events into one ε at a given δ."""

    name: str

    def epsilon(self, events: Sequence[Event], delta: float) -> float:
        """ε of all events together at δ; infinite when the events carry no such guarantee."""
        ...


class Accounting(StrEnum):
    """What may stand behind a guarantee.

    `zcdp`, `gdp` and `pure` have a filter: they stay valid when each step was chosen after seeing earlier answers.
    `schedule` is numerical composition of steps that were all declared before the first one was made.
    """

    ZCDP = "zcdp"
    GDP = "gdp"
    PURE = "pure"
    SCHEDULE = "schedule"
