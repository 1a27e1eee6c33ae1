"""What commands say of the cap of a data set: nobody gets one without hearing so."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kagemusha.ledger.cap import Cap


PAID_BEFORE = (
    "This release was made and paid for before: its answers were taken from the ledger, the doubles were drawn anew, and nothing was spent. "
    "Another release, to be paid for: the same command with --key NAME."
)


def cap_told(cap: Cap | None) -> dict[str, Any] | None:
    """The cap after a release, for machines."""
    return None if cap is None else {"epsilon": cap.budget.epsilon, "delta": cap.budget.delta, "added up by": cap.rule}


def first_cap_in_words(ledger: str | Path, cap: Cap) -> str:
    """What a first release, for which nobody set a cap, has left behind, and how to change that."""
    from kagemusha.ledger import ledger_shown

    more = replace(cap, budget=replace(cap.budget, epsilon=float(f"{2 * cap.budget.epsilon:.3g}")))
    return (
        f"Cap: nobody had set one, so the ledger now refuses releases of this table that take more than ε = {cap.budget.epsilon:.3g} "
        f"together: this one used it up. To allow more, for example: {more.command()} --ledger {shlex.quote(ledger_shown(ledger))}"
    )
