"""Rows of a table in a database as they are, column by column: the first ones for drafts, all of them for looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kagemusha.columns.pushed import plain_columns
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.columns.values import UNREADABLE, Elapsed, Instant, Plain
from kagemusha.errors import DataError
from kagemusha.sources.sqltable import SqlTable


def sql_columns(table: SqlTable, rows: int) -> Iterator[Any]:
    """Arrow arrays of the columns; None for one that cannot be read."""
    chosen = ", ".join(
        table.dialect.raw(f"c{at}", kind) if kind != "nested" else "NULL" for at, kind in enumerate(table.stored)
    )
    found = table.rows(f"SELECT {chosen} FROM {table.scan} LIMIT {rows}")
    if not found:
        raise DataError(f"{table.name}: the table has no rows")
    for values, kind in zip(plain_columns(found, table.stored), table.stored, strict=True):
        yield None if kind in ("nested", "other", "binary") else _array(values, kind)


MOST_WHOLE = 5_000_000
"""Rows of a table that is read into memory."""


def whole_table(table: SqlTable) -> Any:
    """All rows of a table as they are, in memory: for looks whose answers stay inside."""
    import pyarrow as pa

    arrays = list(sql_columns(table, MOST_WHOLE + 1))
    rows = max((len(array) for array in arrays if array is not None), default=0)
    if rows > MOST_WHOLE:
        raise DataError(f"{table.name}: has more than {MOST_WHOLE:,} rows; export a part of it and look at that")
    return pa.table({name: pa.nulls(rows) if a is None else a for name, a in zip(table.names, arrays, strict=True)})


def _array(values: Sequence[Plain], stored: Stored) -> Any:
    import pyarrow as pa

    if stored in MOMENTS:
        moments = [value.microseconds if isinstance(value, Instant) else None for value in values]
        return pa.array(moments, type=pa.timestamp("us"))
    if stored == "interval":
        spans = [value.microseconds if isinstance(value, Elapsed) else None for value in values]
        return pa.array(spans, type=pa.duration("us"))
    if stored == "text":
        return pa.array([None if value is None or value == UNREADABLE else str(value) for value in values])
    numbers = pa.array([value if isinstance(value, float) else None for value in values], type=pa.float64())
    return numbers.cast(pa.bool_()) if stored == "boolean" else numbers
