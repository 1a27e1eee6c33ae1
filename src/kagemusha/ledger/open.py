"""One way in: a ledger by its path, or by the address of the PostgreSQL database that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kagemusha.errors import UsageError
from kagemusha.ledger.book import Book
from kagemusha.ledger.sqlite import SQLiteLedger
from kagemusha.urls import is_postgres, scheme_of, shown


def open_ledger(
    where: str | Path | None = None,
    *,
    read_only: bool = False,
    witnesses: Sequence[Path] = (),
    headless: bool = False,
) -> Book:
    """The ledger at a path or postgresql:// address; without one, a ledger in memory that lasts as long as the process.

    The rest is as in `SQLiteLedger`; a server has no head file.
    """
    if where is None:
        return SQLiteLedger(":memory:")
    if is_postgres(where):
        from kagemusha.ledger.postgres import PostgresLedger, require_driver

        require_driver()
        return PostgresLedger(str(where), read_only=read_only, witnesses=witnesses)
    if scheme_of(where) is not None:
        raise UsageError(f"ledger {shown(str(where))}: a ledger is a file, or in PostgreSQL (postgresql://…)")
    return SQLiteLedger(where, read_only=read_only, witnesses=witnesses, headless=headless)


def ledger_exists(where: str | Path) -> bool:
    """Whether there may be a ledger already; of a server, opening tells."""
    return scheme_of(where) is not None or Path(where).exists()


def ledger_shown(where: str | Path) -> str:
    """Where a ledger is, without credentials."""
    return str(where) if scheme_of(where) is None else shown(str(where))
