"""The cap of a data set when a release of it is made."""

from __future__ import annotations

import math
import shlex

from kagemusha.errors import UsageError
from kagemusha.ledger import Cap, Ledger


def require_cap_fits(cap: float | None, epsilon: float) -> None:
    """Refuse a cap that its own first release would pass."""
    if cap is not None and not (math.isfinite(cap) and epsilon <= cap):
        raise UsageError(
            f"cap (--cap) must be finite and at least epsilon ({epsilon:g}), got {cap:g}: this release would pass it"
        )


def find_cap(book: Ledger, dataset: str, policy: str) -> Cap | None:
    """The cap of a data set in a ledger, if it has one."""
    return next((cap for cap in book.caps() if (cap.dataset, cap.policy) == (dataset, policy)), None)


def settle_cap(book: Ledger, wanted: Cap, *, asked: bool) -> bool:
    """Whether the data set has a cap before the release is made; with `asked` it gets the wanted one if it has none.

    A cap that is there is not changed, and no other policy is made beside it: that is `ledger cap`, on purpose.
    """
    there = find_cap(book, wanted.dataset, wanted.policy)
    if not asked:
        return there is not None
    if there is None:
        others = [cap.policy for cap in book.caps() if cap.dataset == wanted.dataset]
        if others:
            raise UsageError(
                f"cap: the data set has a cap under the policy {others[0]!r}. Another policy beside it is made on purpose: "
                f"`{cap_command(wanted, book)}`"
            )
        book.set_cap(wanted)
    elif there.budget != wanted.budget:
        raise UsageError(
            f"cap {wanted.budget.epsilon:g}: the data set has a cap already, {there.budget.in_words()}. To change it: "
            f"`{cap_command(wanted, book)}`"
        )
    return True


def cap_command(cap: Cap, book: Ledger) -> str:
    """The command that sets a cap in this ledger, ready to be pasted."""
    return f"{cap.command()} --ledger {shlex.quote(book.path)}"
