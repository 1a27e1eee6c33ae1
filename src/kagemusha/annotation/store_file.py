"""The SQLite file behind a labelling project: its tables, its transactions, and facts kept as JSON.

Write-ahead log. A *durable* transaction is synced to the disk before it counts (labels: they survive a power cut).
Others survive the death of the process and may be lost with the power alone (who looks at which record): that saves the
wait for the disk.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kagemusha.errors import DataError

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rounds (number INTEGER PRIMARY KEY, quota INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS tasks (
  id INTEGER PRIMARY KEY, round INTEGER NOT NULL REFERENCES rounds, position INTEGER NOT NULL, codes TEXT NOT NULL,
  shown TEXT NOT NULL, held INTEGER NOT NULL, needed INTEGER NOT NULL, rank INTEGER,
  lease_by TEXT, lease_until REAL NOT NULL DEFAULT 0,
  UNIQUE (round, position));
CREATE INDEX IF NOT EXISTS queue ON tasks (rank) WHERE rank IS NOT NULL;
CREATE TABLE IF NOT EXISTS labels (
  id INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES tasks, who TEXT NOT NULL, answer TEXT NOT NULL,
  at REAL NOT NULL,
  key TEXT NOT NULL UNIQUE, undone INTEGER NOT NULL DEFAULT 0, final INTEGER NOT NULL DEFAULT 0);
DROP INDEX IF EXISTS once;
CREATE UNIQUE INDEX IF NOT EXISTS once_each ON labels (task, who) WHERE undone = 0 AND final = 0;
CREATE INDEX IF NOT EXISTS of_task ON labels (task) WHERE undone = 0;
CREATE TABLE IF NOT EXISTS names (who TEXT PRIMARY KEY, session TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS skipped (task INTEGER NOT NULL, who TEXT NOT NULL, PRIMARY KEY (task, who));
"""


class StoreFile:
    """A few connections, opened as they are needed and used by one thread at a time."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not create and not path.exists():
            raise DataError(f"{path}: no such annotation project")
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        weakref.finalize(self, _close, self._idle)
        try:
            with self._looking() as database:
                database.execute("PRAGMA journal_mode = WAL")  # the file remembers it
            with self._transaction() as database:
                for statement in _TABLES.split(";"):
                    if statement.strip():
                        database.execute(statement)
        except sqlite3.DatabaseError:
            raise DataError(f"{path}: not an annotation project, or it cannot be written") from None
        if create:
            path.chmod(0o600)

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        try:
            database = self._idle.pop()
        except IndexError:
            database = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            database.row_factory = sqlite3.Row
        try:
            yield database
        except BaseException:
            database.close()  # in whatever state it is: what was not committed is rolled back
            raise
        self._idle.append(database)

    @contextmanager
    def _transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        with self._looking() as database:
            database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    def fact(self, name: str, otherwise: Any = None) -> Any:
        """A fact that was kept."""
        with self._looking() as database:
            found = database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return otherwise if found is None else json.loads(found["value"])

    def keep(self, **facts: Any) -> None:
        """Keep facts, in place of older ones of the same names."""
        with self._transaction() as database:
            for name, value in facts.items():
                database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))


def _close(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()
