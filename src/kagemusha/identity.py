"""By what a ledger knows a table again, beside its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """Digests of a table. Private: whoever has a guess at the table could check it. They stay in the ledger."""

    state: str
    """Changes whenever the table does: stored answers are of one state."""
    same: tuple[str, ...] = ()
    """What the table has in common with copies and other forms of it: one budget for all of them."""
