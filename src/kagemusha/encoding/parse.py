"""The one reader of text: numbers and dates in text are read by DuckDB, in frames as in files.

Two readers would differ somewhere (1_000, ' 1', 2024-1-5), and then the same table would be counted
differently depending on how it came in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    import duckdb


class TextReader:
    """Reads texts as numbers or moments; what cannot be read is NaN or masked, never an error."""

    def __init__(self) -> None:
        self._connection: duckdb.DuckDBPyConnection | None = None

    def numbers(self, texts: Any) -> FloatArray:
        """The number each text of an arrow array says, NaN where it says none."""
        found = self._run(f"SELECT {number_sql('text')} AS found FROM texts", texts)
        return np.ma.filled(np.ma.asarray(found).astype(np.float64), np.nan)

    def moments(self, texts: Any, form: str | None) -> tuple[IntArray, Any]:
        """Microseconds since 1970 of each text of an arrow array, and a mask of those that are no moment."""
        found = np.ma.asarray(self._run(f"SELECT epoch_us({moment_sql('text', form)}) AS found FROM texts", texts))
        return np.ma.filled(found, 0).astype(np.int64), np.ma.getmaskarray(found)

    def _run(self, query: str, texts: Any) -> Any:
        import duckdb
        import pyarrow as pa

        if self._connection is None:
            self._connection = duckdb.connect()
        self._connection.register("texts", pa.table({"text": texts}))
        try:
            return self._connection.execute(query).fetchnumpy()["found"]
        finally:
            self._connection.unregister("texts")

    def close(self) -> None:
        """Give back what reading took."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def number_sql(text: str) -> str:
    """DuckDB expression: the number a text says, or NULL."""
    return f"TRY_CAST({text} AS DOUBLE)"


def moment_sql(text: str, form: str | None) -> str:
    """DuckDB expression: the timestamp a text says in a format (none: ISO 8601), or NULL."""
    moment = f"TRY_CAST({text} AS TIMESTAMP)" if form is None else f"try_strptime({text}, {quote(form)})"
    return f"CASE WHEN isfinite({moment}) THEN {moment} END"


def quote(text: str) -> str:
    """A text as SQL literal."""
    return "'" + text.replace("'", "''") + "'"
