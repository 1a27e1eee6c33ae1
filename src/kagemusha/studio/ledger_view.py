"""The ledger of a table: its caps, everything that was paid, and when."""

from __future__ import annotations

from typing import Any

from kagemusha.files import scheme_of
from kagemusha.ledger import ledger_exists, open_ledger
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.content import content_of, in_epsilon
from kagemusha.ledger.open import ledger_shown
from kagemusha.privacy.budget import Budget
from kagemusha.studio.place import Table


def has_cap(table: Table, dataset: str) -> bool:
    """Whether a cap of a ledger is about a table; what a server or a database calls it is not known beforehand."""
    return scheme_of(table.where) is not None or dataset == table.where


def facts(table: Table) -> dict[str, Any]:
    """What the page of a ledger shows; the cap of a table can be changed there, never its history."""
    if not ledger_exists(table.ledger):
        return {"ledger": ledger_shown(table.ledger), "caps": [], "releases": [], "exists": False}
    book = open_ledger(table.ledger, read_only=True)
    try:
        content = content_of(book)
        releases = [(record, in_epsilon(record, record.held)) for record in reversed(book.releases())]
    finally:
        book.close()
    mine = [cap for cap in content["caps"] if has_cap(table, cap["dataset"])]
    return {"ledger": ledger_shown(table.ledger), "caps": mine, "releases": releases, "exists": True}


def set_cap(table: Table, dataset: str, epsilon: float, rows: int) -> None:
    """The most that all releases of a table may cost together; below what is spent already it is refused."""
    book = open_ledger(table.ledger)
    try:
        book.set_cap(Cap(dataset, "default", Budget(epsilon, rows=rows)))
    finally:
        book.close()
