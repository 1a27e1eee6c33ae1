"""Which ledger a table has, and the one way into it: by a path, or by the address of a PostgreSQL database."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from os import PathLike
from pathlib import Path

from kagemusha.errors import LedgerError, UsageError
from kagemusha.files import address_shown, database_file, holds_tables, is_postgres, scheme_of
from kagemusha.ledger.book import Book
from kagemusha.ledger.protocol import Ledger
from kagemusha.ledger.sqlite import SQLiteLedger

NAME = "kagemusha-ledger.db"


def default_ledger(data: str | PathLike[str] | None) -> Path:
    """The ledger of a data set: in the folder of its files or its database, or before the first wildcard of a pattern.

    A server has no folder, so there the ledger must be named. What is no file at all is a name that somebody gave, and
    means the ledger of this folder, as if no data set were named.
    """
    scheme = scheme_of(data)
    if data is None or (scheme is None and not Path(data).exists() and not glob.has_magic(str(data))):
        return Path(NAME)
    if scheme == "duckdb":
        return database_file(str(data)).resolve().parent / NAME
    if scheme is not None:
        where = shlex.quote(str(Path.home() / NAME))
        raise UsageError(
            f"{address_shown(str(data))}: a table of a server has no folder for its ledger, so say where that lies, "
            f"each time the same: --ledger {where} (or once for all: export KAGEMUSHA_LEDGER={where})"
        )
    if not Path(data).exists():
        return _of_pattern(str(data))
    place = Path(data).resolve()
    # related tables: each of their files by itself has the same ledger, so that it meets the same cap
    return _of_place(place, (place if holds_tables(place) else place.parent) / NAME)


def witnesses_near(places: Iterable[object], witness: Path | None = None) -> list[Path]:
    """Files that may have seen the head of a ledger: a witness kept elsewhere, and releases beside these places."""
    if witness is not None and not witness.is_file():
        raise UsageError(f"witness {witness}: no such file (--witness)")
    files = [Path(place) for place in places if isinstance(place, str | PathLike) and scheme_of(place) is None]
    folders = sorted({file.resolve().parent for file in files})
    seen = [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*/certificate.json"))]
    return [*([] if witness is None else [witness]), *seen]


def _of_place(place: Path, here: Path) -> Path:
    """The ledger of a file or a folder; refused where one above it, but none here, has released it or what it is in."""
    above = [] if here.exists() else [folder / NAME for folder in here.parent.parents if (folder / NAME).is_file()]
    for other in above:
        with suppress(LedgerError), closing(open_ledger(other, read_only=True)) as book:
            known = {record.dataset for record in book.releases()}
            patterns = filter(glob.has_magic, known)
            around = {str(one) for one in (place, *place.parents)}
            if around & known or any(place in map(_resolved, glob.iglob(one, recursive=True)) for one in patterns):
                raise UsageError(_which(place, str(other), here))
    return here


def _resolved(name: str) -> Path:
    return Path(name).resolve()


def _which(data: object, before: str, here: Path) -> str:
    return (
        f"{data}: it may have been released before, or a part of it, out of the ledger {before}; say which ledger is "
        f"meant: --ledger {shlex.quote(before)} (or {shlex.quote(str(here))})"
    )


def _of_pattern(pattern: str) -> Path:
    """The ledger of a pattern; refused where one lies beside some of its files, for another place is a fresh budget."""
    fixed = _fixed_part(Path(pattern)).resolve()
    here = fixed / NAME
    folders = {Path(file).resolve().parent for file in glob.iglob(pattern, recursive=True)}
    nearer = {between for folder in folders for between in (folder, *folder.parents) if between.is_relative_to(fixed)}
    others = [str(folder / NAME) for folder in sorted(nearer - {fixed}) if (folder / NAME).exists()]
    if others:
        raise UsageError(_which(pattern, others[0], here))
    return here


def _fixed_part(pattern: Path) -> Path:
    """The folder that all files of a pattern lie in, as far as their names say."""
    fixed = Path(pattern.anchor)
    for part in pattern.parts[len(fixed.parts) : -1]:
        if glob.has_magic(part):
            break
        fixed /= part
    return fixed


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
        raise UsageError(f"ledger {address_shown(str(where))}: a ledger is a file, or in PostgreSQL (postgresql://…)")
    return SQLiteLedger(where, read_only=read_only, witnesses=witnesses, headless=headless)


def ledger_exists(where: str | Path) -> bool:
    """Whether there may be a ledger already; of a server, opening tells."""
    return scheme_of(where) is not None or Path(where).exists()


def ledger_shown(where: str | Path) -> str:
    """Where a ledger is, without credentials."""
    return str(where) if scheme_of(where) is None else address_shown(str(where))


def opened(ledger: Ledger | str | Path | None) -> Ledger:
    """A ledger as it is, or the one at a path; one in memory if there is none."""
    return ledger if ledger is not None and not isinstance(ledger, str | PathLike) else open_ledger(ledger)
