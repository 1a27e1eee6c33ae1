"""The cap of a data set, as `synth` sets it and tells of it: nobody gets one without hearing so."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagemusha.errors import UsageError

if TYPE_CHECKING:
    from kagemusha.ledger.cap import Cap


PAID_BEFORE = (
    "This release was made and paid for before: its answers were taken from the ledger, the doubles were drawn anew, and nothing was spent. "
    "Another release, to be paid for: the same command with --key NAME."
)


def settle_cap(ledger: str | Path, wanted: Cap, *, asked: bool) -> bool:
    """Whether the data set has a cap before the release is made; with `asked` it gets the wanted one if it has none.

    A cap that is there is not changed: that is `ledger cap`, on purpose.
    """
    from kagemusha.ledger import open_ledger

    there = find_cap(ledger, wanted.dataset, wanted.policy)
    if there is not None and asked and there.budget != wanted.budget:
        raise UsageError(
            f"--cap {wanted.budget.epsilon:g}: the data set has a cap already, {there.budget.in_words()}. To change it: "
            f"`{_command(wanted, ledger)}`"
        )
    if there is None and asked:
        _refuse_second_policy(ledger, wanted)
        open_ledger(ledger).set_cap(wanted)
    return there is not None or asked


def _refuse_second_policy(ledger: str | Path, wanted: Cap) -> None:
    """Another policy goes round the cap there is, so it is made by `ledger cap` alone."""
    from kagemusha.ledger import ledger_exists, open_ledger

    caps = open_ledger(ledger, read_only=True).caps() if ledger_exists(ledger) else []
    others = [cap.policy for cap in caps if cap.dataset == wanted.dataset]
    if others:
        raise UsageError(
            f"--cap: the data set has a cap under the policy {others[0]!r}. Another policy beside it is made on purpose: "
            f"`{_command(wanted, ledger)}`"
        )


def _command(cap: Cap, ledger: str | Path) -> str:
    from kagemusha.ledger import ledger_shown

    return f"{cap.command()} --ledger {shlex.quote(ledger_shown(ledger))}"


def find_cap(ledger: str | Path, dataset: str, policy: str) -> Cap | None:
    """The cap of a data set in a ledger, if there are both."""
    from kagemusha.ledger import ledger_exists, open_ledger

    if not ledger_exists(ledger):
        return None
    book = open_ledger(ledger, read_only=True)
    return next((cap for cap in book.caps() if (cap.dataset, cap.policy) == (dataset, policy)), None)


def cap_told(ledger: str | Path, dataset: str, policy: str) -> dict[str, Any] | None:
    """The cap after a release, for machines."""
    cap = find_cap(ledger, dataset, policy)
    return None if cap is None else {"epsilon": cap.budget.epsilon, "delta": cap.budget.delta, "added up by": cap.rule}


def first_cap_in_words(ledger: str | Path, dataset: str, policy: str) -> str:
    """What a first release, for which nobody set a cap, has left behind, and how to change that."""
    cap = find_cap(ledger, dataset, policy)
    if cap is None:
        return ""
    more = replace(cap, budget=replace(cap.budget, epsilon=float(f"{2 * cap.budget.epsilon:.3g}")))
    return (
        f"Cap: nobody had set one, so the ledger now refuses releases of this table that take more than ε = {cap.budget.epsilon:.3g} "
        f"together: this one used it up. To allow more, for example: {_command(more, ledger)}"
    )


def closed_releases(ledger: str | Path) -> set[str]:
    """The releases that a ledger knows and that are over."""
    from kagemusha.ledger import ledger_exists, open_ledger

    if not ledger_exists(ledger):
        return set()
    book = open_ledger(ledger, read_only=isinstance(ledger, Path))
    try:
        return {release.id for release in book.releases() if release.closed}
    finally:
        book.close()
