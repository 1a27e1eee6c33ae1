"""A table of a PostgreSQL database: one read-only transaction with one snapshot, for as long as the source lives.

Every answer is about the rows that were there when the table was opened, however it grows meanwhile. A lock keeps its
columns as they are. A connection that is lost takes the snapshot with it, so it is not made anew: that is an error.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from copy import copy
from typing import Any, ClassVar, TypeVar

from kagemusha.columns.dialects import PostgresDialect
from kagemusha.columns.stored import Stored
from kagemusha.errors import DataError, UsageError
from kagemusha.files import LOGIN, address_shown, refused_login
from kagemusha.identity import Identity
from kagemusha.sources.sqltable import BATCH, Row, SqlTable

Result = TypeVar("Result")

CATALOGUE = "\0"
"""In the place of a table's name: none; no table can be called so."""

TIMEOUT = 3600.0
"""Seconds that one statement may take."""

_SESSION = (
    "SET standard_conforming_strings = on",
    "SET client_encoding = 'UTF8'",
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO'",
    "SET extra_float_digits = 1",
    "SET work_mem = '128MB'",
    "SET jit = off",
    "SET application_name = 'kagemusha'",
)
"""What the meaning of our SQL rests on; and one machine's memory and time well spent."""

_STORED: dict[int, Stored] = {
    16: "boolean", 17: "binary", 18: "text", 19: "text", 20: "integer", 21: "integer", 23: "integer", 25: "text",
    700: "float",
    701: "float", 1042: "text", 1043: "text", 1082: "date", 1083: "text", 1114: "timestamp", 1184: "zoned",
    1186: "interval", 1700: "decimal",
    2950: "text",
}  # fmt: skip
"""The numbers of PostgreSQL's own types."""

_TROUBLE = {
    "28P01": "the server refused user or password",
    "28000": "the server refused the login",
    "3D000": "there is no such database",
    "42501": "this user may not read the table",
    "57014": "a statement took longer than allowed (statement_timeout), or was cancelled",
    "53100": "the server's disk is full",
    "53200": "the server is out of memory",
    "55P03": "somebody holds a lock on the table",
}


class PostgresTable(SqlTable):
    """A table or view, by the address of its database and its name (`patients`, or `schema.patients`)."""

    dialect: ClassVar[PostgresDialect] = PostgresDialect()  # type: ignore[misc]

    def __init__(self, url: str, table: str | None, *, timeout: float = TIMEOUT) -> None:
        try:
            import psycopg  # noqa: F401
            import sqlalchemy as sa
        except ImportError:
            raise UsageError("reading PostgreSQL needs SQLAlchemy and psycopg: pip install 'kagemusha[sql]'") from None
        self._shown = address_shown(url)
        self.name = self._shown
        self._lost = self._closed = False
        self._link: Any = None
        self._first: PostgresTable | None = None
        if not timeout > 0:
            raise UsageError(f"the statement timeout must be more than 0 seconds, got {timeout}")

        def connect() -> Any:
            address = sa.make_url(url).set(drivername="postgresql+psycopg")
            engine = sa.create_engine(address, poolclass=sa.pool.NullPool, hide_parameters=True)
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True, "no_parameters": True}
            return engine.connect().execution_options(**options)

        self._link = self._shielded(connect)
        self._finalizer = weakref.finalize(self, _close, self._link)
        for statement in (*_SESSION, f"SET statement_timeout = {int(timeout * 1000)}"):
            self._run(statement)
        if table != CATALOGUE:
            self._look_at(table)

    @classmethod
    def catalogue(cls, url: str) -> AbstractContextManager[PostgresTable]:
        """A connection that is asked about the catalogue alone."""
        return closing(cls(url, CATALOGUE))

    def _look_at(self, table: str | None) -> None:
        """Find the table, and keep its columns as they are."""
        self.place = place = self._find(table)
        full = ".".join(map(self.dialect.identifier, place))
        self.name = f"{self._shown}#{'.'.join(place)}"
        self._known_as, self._numbers = self._who(place)
        self._run(f"LOCK TABLE {full} IN ACCESS SHARE MODE")
        described = self._run(f"SELECT * FROM {full} LIMIT 0")
        self.names = tuple(str(column[0]) for column in described.cursor.description)
        kinds = [int(column.type_code) for column in described.cursor.description]
        described.close()
        self.stored = tuple(self._kind(kind) for kind in kinds)
        columns = ", ".join(f"c{i}" for i in range(len(self.names)))
        self.scan = f"{full} AS raw({columns})"

    def __repr__(self) -> str:
        return f"PostgresTable({self.name!r})"

    def rows(self, query: str) -> list[Row]:
        """All rows of an answer."""
        return self._shielded(lambda: [tuple(row) for row in self._link.exec_driver_sql(query).fetchall()])

    def batches(self, query: str) -> Iterator[list[Row]]:
        """The rows of an answer through a cursor of the server's."""
        options = {"stream_results": True, "yield_per": BATCH}
        found = self._shielded(lambda: self._link.exec_driver_sql(query, execution_options=options))
        try:
            while batch := self._shielded(lambda: found.fetchmany(BATCH)):
                yield [tuple(row) for row in batch]
        finally:
            found.close()

    def fingerprint(self, columns: Sequence[int]) -> str | None:
        """A sum of the hashes of all rows, in one scan."""
        row = ", ".join(f"c{at}" for at in columns)
        query = (
            f"SELECT count(*), sum(hashtextextended(ROW({row})::text, 0)::numeric), "
            f"sum(hashtextextended(ROW({row})::text, 1)::numeric) FROM {self.scan}"
        )
        names = [self.names[at] for at in columns]
        return hashlib.sha256(repr((names, [str(v) for v in self.rows(query)[0]])).encode()).hexdigest()

    def beside(self, table: str) -> PostgresTable:
        """Another table in the same snapshot, on the same connection: closed together, whichever of them is."""
        other = copy(self)
        other._first = self  # the connection is let go of with the last one
        other._look_at(table)
        return other

    @property
    def known_as(self) -> str | None:
        """The server's own number, its database and the table's name: `localhost` and `127.0.0.1` are one server."""
        return self._known_as

    def identity(self, columns: Sequence[int]) -> Identity | None:
        """A digest of the rows, and the numbers of server, database and table, which outlast new rows and names."""
        found = super().identity(columns)
        return found and Identity(found.state, (self._numbers,) if self._numbers else ())

    def _who(self, place: tuple[str, str]) -> tuple[str | None, str | None]:
        """What the server says of itself.

        A name for the ledger, and a digest of the numbers that stand for the table.
        """
        allowed = "SELECT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
        if not self.rows(allowed)[0][0]:
            return None, None
        schema, name = map(self.dialect.literal, place)
        query = (
            "SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()), d.oid::bigint, d.datname, "
            "c.oid::bigint FROM pg_catalog.pg_database d, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON "
            f"n.oid = c.relnamespace WHERE d.datname = current_database() AND n.nspname = {schema} AND c.relname = "
            f"{name}"
        )
        system, database, called, table = self.rows(query)[0]
        numbers = hashlib.sha256(f"postgresql {system} {database} {table}".encode()).hexdigest()
        return f"postgresql://{system}/{called}#{'.'.join(place)}", numbers

    def close(self) -> None:
        """End the transaction, and with it the snapshot and its lock."""
        self._closed = True
        self._finalizer()

    def _run(self, statement: str) -> Any:
        return self._shielded(lambda: self._link.exec_driver_sql(statement))

    def _find(self, table: str | None) -> tuple[str, str]:
        """Schema and name of the table that is meant."""
        lookup = (
            "SELECT n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid) FROM pg_catalog.pg_class c "
            "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') "
        )
        if table is None:
            others = (
                "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%' "
                "ORDER BY 1, 2 LIMIT 9"
            )
            names = [f"{schema}.{name}" for schema, name, _ in self.rows(lookup + others)]
            known = f"; there are {', '.join(names[:8])}{', …' if len(names) > 8 else ''}" if names else ""
            raise UsageError(f"{self._shown}: say which table is meant, with table=… (--table …){known}")
        wanted = self.dialect.literal(table)
        found = self.rows(
            f"{lookup} AND ((c.relname = {wanted} AND pg_catalog.pg_table_is_visible(c.oid)) "
            f"OR n.nspname || '.' || c.relname = {wanted}) ORDER BY 3 DESC, 1, 2"
        )
        if not found or "\0" in table:
            raise DataError(f"{self._shown}: there is no table {table!r}, or this user may not see it")
        return str(found[0][0]), str(found[0][1])

    def _kind(self, number: int) -> Stored:
        if number in _STORED:
            return _STORED[number]
        ((name, kind, category),) = self.rows(
            f"SELECT typname, typtype::text, typcategory::text FROM pg_catalog.pg_type WHERE oid = {number}"
        )
        if kind == "e" or name == "citext":
            return "text"
        return "nested" if category in "AC" or kind == "c" else "other"

    def _shielded(self, call: Callable[[], Result]) -> Result:
        """The result of a call; what driver or server say becomes a message of ours, raised outside the handler."""
        if self._closed:
            raise DataError(f"{self.name}: it was closed; open it again for more questions")
        if self._lost:
            raise DataError(f"{self.name}: {LOST}")
        try:
            return call()
        except Exception as error:
            trouble = self._explain(error)
        raise DataError(f"{self.name}: {trouble}")

    def _explain(self, error: Exception) -> str:
        from psycopg import Error
        from sqlalchemy.exc import DBAPIError

        cause = error.orig if isinstance(error, DBAPIError) else error
        state = cause.sqlstate if isinstance(cause, Error) else None
        if state in _TROUBLE:
            return _TROUBLE[state]
        gone = (isinstance(error, DBAPIError) and error.connection_invalidated) or str(state)[:2] in ("08", "57")
        if gone or (state is None and self._link is not None and type(cause).__name__ == "OperationalError"):
            self._lost = True
            return LOST
        if self._link is None and refused_login(state, str(cause)):
            return LOGIN
        if self._link is None:
            return "the server cannot be reached, or the address is not one (postgresql://user@host:port/database)"
        return f"the server could not answer (SQLSTATE {state or 'unknown'})"


LOST = (
    "the connection was lost, and with it the one state of the table that all answers must speak of. What was paid for "
    "is in the ledger: the same command goes on from what was answered"
)


def _close(link: Any) -> None:
    from contextlib import suppress

    with suppress(Exception):
        link.close()
        link.engine.dispose()
