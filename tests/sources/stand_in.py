"""DuckDB in the place of a server: a table that `SqlSource` asks in the SQL of PostgreSQL, of Spark, or in DuckDB's
own.

What DuckDB writes otherwise than a server is translated, statement by statement, after the dialect has written it:
so the
dialects themselves are what is tried here, whole, on machines that have neither server.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from kagemusha.columns.dialect import Dialect, DuckDialect
from kagemusha.columns.dialects import PostgresDialect, SparkDialect
from kagemusha.columns.stored import Stored
from kagemusha.errors import DataError
from kagemusha.sources.header import stored_as
from kagemusha.sources.sqltable import Row, SqlTable

MACROS = (
    "CREATE MACRO convert_to(x, encoding) AS x",
    "CREATE MACRO width_bucket(x, starts) AS len(list_filter(starts, lambda s: s <= x))",
    "CREATE MACRO unix_date(x) AS CAST(CAST(x AS DATE) - DATE '1970-01-01' AS BIGINT)",
    "CREATE MACRO unix_micros(x) AS epoch_us(x)",
    "CREATE MACRO days_later(x, n) AS x + n",
)
SETTINGS = (
    "SET TimeZone = 'UTC'",
    # a statement of a server's works out no branch of CASE that is not taken
    "SET disabled_optimizers = 'statistics_propagation,common_subexpressions'",
)
LITERAL = re.compile(r"'(?:[^']|'')*'")


def postgres_to_duck(query: str) -> str:
    """PostgreSQL's arrays are written otherwise, and its numeric has as many digits as it needs."""
    query = re.sub(r"'\{([^{}']*)\}'::(bigint|float8)\[\]", r"'[\1]'::\2[]", query)
    return query.replace("::numeric * 1000000)", "::decimal(30, 6) * 1000000)")


def spark_to_duck(query: str) -> str:
    """Spark's texts hold every odd character as a number; functions, operators and suffixes of numbers have other
    names."""
    found, place = [], 0
    for literal in LITERAL.finditer(query):
        found += [_code(query[place : literal.start()]), _text(literal[0])]
        place = literal.end()
    whole = "".join([*found, _code(query[place:])])
    grouped = re.search(r"GROUP BY (.+?) GROUPING SETS", whole)
    if grouped:
        whole = whole.replace("grouping_id()", f"GROUPING({grouped[1]})").replace(
            f"GROUP BY {grouped[1]} GROUPING", "GROUP BY GROUPING"
        )
    return whole


def _code(part: str) -> str:
    part = re.sub(r"\((-?[0-9.e+-]+|-?inf|nan)D\)", r"('\1'::DOUBLE)", part)
    part = re.sub(r"\b([0-9]+)L\b", r"\1", part)
    part = part.replace(" RLIKE ", " ~ ").replace(" div ", " // ").replace("TIMESTAMP_NTZ", "TIMESTAMP")
    part = part.replace("date_add(", "days_later(").replace("extract(SECOND FROM", "extract(MICROSECONDS FROM")
    return part.replace(" * 1000000 AS BIGINT)", " AS BIGINT)")


def _text(literal: str) -> str:
    escape = re.compile(r"\\u([0-9A-F]{4})|\\U([0-9A-F]{8})")
    assert "''" not in literal[1:-1]
    return "'" + escape.sub(lambda m: chr(int(m[1] or m[2], 16)), literal[1:-1]).replace("'", "''") + "'"


class LikeAServer(DuckDialect):
    """DuckDB as a server is spoken to: it reads what a pattern has let through, and few sets and columns at a time."""

    name = "DuckDB in the place of a server"
    most_sets = 3
    most_columns = 4
    is_number = Dialect.is_number
    lookup = Dialect.lookup
    bins = Dialect.bins
    moment_of_text = Dialect.moment_of_text  # type: ignore[assignment]


DIALECTS: dict[str, tuple[Dialect, Any]] = {
    "duck": (LikeAServer(), str),
    "postgres": (PostgresDialect(), postgres_to_duck),
    "spark": (SparkDialect(), spark_to_duck),
}


class StandIn(SqlTable):
    """A table of DuckDB's, in the order of `rows`, or in another one at every scan if it is `shuffled`."""

    def __init__(
        self, table: pa.Table, dialect: str = "duck", *, name: str | None = "stand-in", shuffled: bool = False
    ) -> None:
        self.dialect, self._translated = DIALECTS[dialect]
        self.name = name
        self.asked: list[str] = []
        self._link = duckdb.connect()
        self.names = tuple(table.column_names)
        columns = [f"c{i}" for i in range(len(self.names))]
        self._link.register("given", table.rename_columns(columns))
        for statement in (*SETTINGS, *MACROS, "CREATE TABLE held AS SELECT * FROM given"):
            self._link.execute(statement)
        kinds = self._link.execute("DESCRIBE held").fetchall()
        self.stored: tuple[Stored, ...] = tuple(stored_as(str(row[1])) for row in kinds)
        self.scan = "(SELECT * FROM held ORDER BY random()) AS raw" if shuffled else "held"
        self._closed = False

    def rows(self, query: str) -> list[Row]:
        self.asked.append(query)
        if self._closed:
            raise DataError("it was closed")
        return list(self._link.execute(self._translated(query)).fetchall())

    def batches(self, query: str) -> Iterator[list[Row]]:
        """Small ones, so that there are several."""
        found = self.rows(query)
        for at in range(0, len(found), 7):
            yield found[at : at + 7]

    def fingerprint(self, columns: Sequence[int]) -> str | None:
        some = ", ".join(f"c{at}" for at in columns)
        found = self.rows(f"SELECT count(*), sum(hash({some})) FROM held")
        return hashlib.sha256(repr(([self.names[at] for at in columns], found)).encode()).hexdigest()

    def close(self) -> None:
        self._closed = True
        self._link.close()
