"""The embedded ledger, in one file: SQLite, write-ahead log, full sync, one writer at a time, its owner's alone."""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kagemusha.errors import LedgerError
from kagemusha.files import odd_kind
from kagemusha.ledger import chain
from kagemusha.ledger.book import Book
from kagemusha.ledger.chain import Head
from kagemusha.ledger.tables import VERSION, layout


class SQLiteLedger(Book):
    """A ledger in one file (or in memory, for a run that leaves no trace)."""

    def __init__(
        self,
        path: str | Path,
        *,
        wait_seconds: float = 10.0,
        read_only: bool = False,
        witnesses: Sequence[Path] = (),
        headless: bool = False,
    ) -> None:
        """Open the ledger, or make one where there is none; `read_only` is for a short look that changes nothing.

        `witnesses` are files that may have seen this ledger's head (certificates, copies of the head file); one that
        knows more than the ledger does is a LedgerError. The head file beside the ledger is always asked, and must be
        there once anything is in the ledger; `headless` opens one that has lost it, to be checked and given a new one.
        """
        self.path = str(path)
        self.in_memory = self.path == ":memory:"
        self._db = sqlite3.connect(":memory:")
        asked = [] if self.in_memory else [chain.head_file(self.path), *witnesses]
        if not self.in_memory:
            _require_file(self.path)
        try:
            if read_only:
                self._open_to_read(wait_seconds)
            else:
                self._open_to_write(wait_seconds)
            chain.require_not_older(self._db, self.path, chain.seen_heads(asked))
            if not (self.in_memory or headless):
                self._require_head(read_only)
        except sqlite3.Error as error:
            raise self._trouble(error) from None
        except LedgerError:
            self.close()
            raise

    def _open_to_read(self, wait_seconds: float) -> None:
        # with nobody writing, SQLite need not leave a log of its own beside the file
        quiet = "" if Path(f"{self.path}-wal").exists() else "&immutable=1"
        where = f"file:{quote(self.path)}?mode=ro{quiet}"
        self._db = sqlite3.connect(where, uri=True, timeout=wait_seconds, isolation_level=None)
        if not self._tables_exist():
            raise LedgerError(f"ledger {self.path}: the file is not a ledger")
        self._require_version()

    def _open_to_write(self, wait_seconds: float) -> None:
        if not self.in_memory:
            _require_own_file(self.path)
        self._db = sqlite3.connect(self.path, timeout=wait_seconds, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        if not self._tables_exist():
            self._make()
        self._require_version()

    def close(self) -> None:
        self._db.close()

    @property
    def head(self) -> Head:
        return chain.read_head(self._db)

    def broken_at(self) -> int | None:
        return chain.broken_at(self._db)

    def _make(self) -> None:
        if not self.in_memory and chain.seen_heads([chain.head_file(self.path)]):
            raise LedgerError(
                f"ledger {self.path}: the file is empty, and {chain.head_file(self.path)} has seen a ledger here. Put "
                "that one back, or remove the .head file to begin anew. Nothing was spent"
            )
        with self._transaction() as db:
            if not self._tables_exist():  # another process may have made them meanwhile
                for statement in layout():
                    db.execute(statement)
                chain.make(db)
                db.execute(f"PRAGMA user_version = {VERSION}")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _require_version(self) -> None:
        """A ledger that another version laid out is refused."""
        if self._version() != VERSION:
            raise LedgerError(
                f"ledger {self.path}: it was made by another version of Kagemusha (layout {self._version()}, this one "
                f"has {VERSION})"
            )

    def _require_head(self, read_only: bool) -> None:
        """The head file is there before anything that counts, so a ledger that has entries and none has lost it."""
        if chain.seen_heads([chain.head_file(self.path)]):
            return
        if self.head.number:
            raise LedgerError(
                f"ledger {self.path}: {chain.head_file(self.path)} is missing or damaged, so an older copy of the "
                "ledger could not be distinguished from the last one. Put that file back from where the ledger came "
                "from. If it "
                "is lost and this is the newest ledger there is: `kagemusha ledger check --ledger "
                f"{shlex.quote(self.path)} --renew-head`. Nothing was spent"
            )
        if not read_only:
            self._save_head()

    def damage(self) -> str | None:
        """What SQLite's own check of the file finds, if anything."""
        found = self.rows("PRAGMA integrity_check(1)")
        return None if found == [("ok",)] else "its pages do not fit together"

    def _save_head(self) -> None:
        """Tell the file beside the ledger how far it has come, so that an older copy can be recognised."""
        if not self.in_memory:
            chain.save_head(chain.head_file(self.path), self.head)

    def _tables_exist(self) -> bool:
        query = "SELECT count(*) FROM sqlite_master WHERE name IN ('caps', 'cap_changes', 'releases', 'steps')"
        return bool(self._db.execute(query).fetchone()[0] == 4)

    def _trouble(self, error: sqlite3.Error) -> LedgerError:
        if "locked" in str(error) or "busy" in str(error):
            return LedgerError(f"ledger {self.path}: another process holds it; wait and try again")
        if "not a database" in str(error) or "malformed" in str(error):
            return LedgerError(f"ledger {self.path}: the file is damaged or is not a ledger")
        return LedgerError(f"ledger {self.path}: cannot be used ({error})")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._trouble(error) from None

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return list(self._db.execute(query, values).fetchall())
        except sqlite3.Error as error:
            raise self._trouble(error) from None


def _require_file(path: str) -> None:
    """Refuse what is no file: SQLite would wait for a pipe for ever."""
    kind = odd_kind(os.stat(path).st_mode) if os.path.exists(path) else ""
    if kind:
        raise LedgerError(f"ledger {path}: this is {kind}, not a file")


def _require_own_file(path: str) -> None:
    """Make the file so that its owner alone can read it; refuse one that others can read or change."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise LedgerError(f"ledger {path}: cannot be used ({error.strerror})") from None
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if os.name == "posix" and mode & 0o077:
        raise LedgerError(
            f"ledger {path}: others on this computer can read or change it (mode {mode:o}), and it is as private as "
            f"the table: chmod 600 {path!r}"
        )
