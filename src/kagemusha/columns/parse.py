"""The one reader of text: numbers and dates in text are read by DuckDB, in frames as in files.

Two readers would differ somewhere (1_000, ' 1', 2024-1-5), and then the same table would be counted
differently depending on how it came in.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.label import (
    DATE_TIME,
    DATE_TIME_LENGTH,
    FALSE,
    MICROSECONDS_PER_DAY,
    TRUE,
    ZONE,
    ZONED_FROM,
    digits_of,
)

if TYPE_CHECKING:
    import duckdb


class TextReader:
    """Reads texts as numbers or moments; what cannot be read is NaN or masked, never an error."""

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None

    def numbers(self, texts: Any) -> FloatArray:
        """The number each text of an arrow array or a list says, NaN where it says none."""
        found = self._run(f"SELECT {number_sql('text')} AS found FROM texts", texts)
        return np.ma.filled(np.ma.asarray(found).astype(np.float64), np.nan)

    def moments(self, texts: Any, form: str | None) -> tuple[IntArray, Any]:
        """Microseconds since 1970 of each text of an arrow array or a list, and a mask of those that are no moment."""
        found = np.ma.asarray(self._run(f"SELECT {moment_sql('text', form)} AS found FROM texts", texts))
        return np.ma.filled(found, 0).astype(np.int64), np.ma.getmaskarray(found)

    def _run(self, query: str, texts: Any) -> Any:
        import duckdb
        import pyarrow as pa

        if self._connection is None:
            self._connection = duckdb.connect()
            without_bar(self._connection)
        column = pa.array(texts, type=pa.string()) if isinstance(texts, list) else texts
        self._connection.register("texts", pa.table({"text": column}))
        try:
            return self._connection.execute(query).fetchnumpy()["found"]
        finally:
            self._connection.unregister("texts")

    def close(self) -> None:
        """Give back what reading took."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def without_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """No bar is drawn into the output stream, where a command's own answer is expected.

    In a notebook without ipywidgets DuckDB refuses to speak of bars, and draws none.
    """
    import duckdb

    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")


def number_sql(text: str) -> str:
    """DuckDB expression: the number a text says (see `columns.label`), or NULL."""
    return f"coalesce(TRY_CAST({text} AS DOUBLE), {_truth(text)}, {days_sql(_iso(text))})"


def days_sql(microseconds: str) -> str:
    """DuckDB expression: the number a moment says, its days since 1970."""
    return f"CAST({microseconds} AS DOUBLE) / {float(MICROSECONDS_PER_DAY)!r}e0"


def plain_moment_sql(text: str, form: str | None) -> str:
    """DuckDB expression: microseconds since 1970 of a text that is just as the format (none: ISO 8601) says, or NULL.

    `epoch_us` of a moment that is not finite is NULL.
    """
    if form is None:
        # Whether DuckDB's own cast heeds a zone depends on its version.
        zoned = f"length({text}) >= {ZONED_FROM} AND regexp_matches({text}, '{ZONE}$')"
        return f"epoch_us(CASE WHEN NOT ({zoned}) THEN TRY_CAST({text} AS TIMESTAMP) END)"
    found = f"try_strptime({text}, {quote(form)})"
    width = digits_of(form)
    return f"epoch_us({found if width is None else f'CASE WHEN length({text}) = {width} THEN {found} END'})"


def moment_sql(text: str, form: str | None) -> str:
    """DuckDB expression: microseconds since 1970 of what a text says, in the format or otherwise, or NULL."""
    number = f"coalesce(TRY_CAST({text} AS DOUBLE), {_truth(text)})"
    width = None if form is None else digits_of(form)
    if form is None or width is None:
        return f"coalesce({plain_moment_sql(text, form)}, {_iso(text)}, {_days_to_stamp(number)})"
    # Tables that take such dates for numbers drop leading zeros, and write .0 once there is a gap.
    whole = f"{number} >= 0 AND {number} < 1e{width} AND {number} = floor({number})"
    digits = f"CASE WHEN {whole} THEN lpad(CAST(CAST({number} AS BIGINT) AS VARCHAR), {width}, '0') END"
    padded = f"epoch_us(try_strptime({digits}, {quote(form)}))"
    return f"coalesce({plain_moment_sql(text, form)}, {padded}, {_iso(text)})"


def quote(text: str) -> str:
    """A text as SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _truth(text: str) -> str:
    true, false = (", ".join(map(quote, words)) for words in (TRUE, FALSE))
    return f"CASE WHEN {text} IN ({true}) THEN 1e0 WHEN {text} IN ({false}) THEN 0e0 END"


def _iso(text: str) -> str:
    """Microseconds since 1970 of an ISO 8601 text (see `columns.label`), or NULL."""
    zone = f"CASE WHEN length({text}) >= {ZONED_FROM} THEN regexp_extract({text}, '{ZONE}$', 0) ELSE '' END"
    local = f"substr({text}, 1, length({text}) - length({zone}))"
    stamp = f"epoch_us(TRY_CAST(substr({local}, 1, {DATE_TIME_LENGTH}) AS TIMESTAMP))"
    hours, minutes = (f"regexp_extract({zone}, '{ZONE}$', {group})" for group in (1, 2))
    shift = (
        f"coalesce(TRY_CAST({hours} AS BIGINT), 0) * 60 "
        f"+ coalesce(TRY_CAST(left({hours}, 1) || {minutes} AS BIGINT), 0)"
    )
    return f"CASE WHEN regexp_full_match({local}, '{DATE_TIME}') THEN {stamp} - ({shift}) * 60000000 END"


def _days_to_stamp(number: str) -> str:
    near = f"abs({number}) <= 1e8 AND {number} = floor({number})"
    return f"CASE WHEN {near} THEN CAST({number} AS BIGINT) * {MICROSECONDS_PER_DAY} END"
