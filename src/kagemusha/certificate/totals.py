"""What all events of a certificate cost together, by every accountant that can hold them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from kagemusha.privacy.accountants import ACCOUNTANTS, PLD, RDP, ZCDP, Accountant, Accounting
from kagemusha.privacy.events import Event


@lru_cache(maxsize=16)
def totals(events: tuple[Event, ...], accounting: Accounting, delta: float) -> Mapping[str, float]:
    """Kept, because a certificate is bound, written and shown one after the other, and composition takes a while."""
    accountants: list[Accountant] = [ZCDP(), RDP(), PLD()]
    own = ACCOUNTANTS[accounting]
    if own.name not in {a.name for a in accountants}:
        accountants.insert(0, own)
    return MappingProxyType({a.name: a.epsilon(events, delta) for a in accountants})
