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
    """The accountings that have a filter: they stay valid when each step was chosen after seeing earlier answers."""

    ZCDP = "zcdp"
    GDP = "gdp"
    PURE = "pure"


def accountant_for(accounting: Accounting) -> Accountant:
    """The accountant behind an accounting."""
    from kagemusha.privacy.accountants.gdp import GDP
    from kagemusha.privacy.accountants.pure import Pure
    from kagemusha.privacy.accountants.zcdp import ZCDP

    accountants: dict[Accounting, Accountant] = {
        Accounting.ZCDP: ZCDP(),
        Accounting.GDP: GDP(),
        Accounting.PURE: Pure(),
    }
    return accountants[accounting]
