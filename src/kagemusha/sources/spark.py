"""A table that Spark reads: a DataFrame, or the name of a table. What is asked runs on the cluster, as SQL.

The codes are made in the first job and kept on the executors' disks, so that every later job counts the same rows. A
timestamp is a moment in UTC here, as Spark stores it; one without a zone stays without one.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from kagemusha.columns.dialects import SparkDialect
from kagemusha.columns.stored import Stored
from kagemusha.errors import DataError, UsageError
from kagemusha.sources.sqltable import BATCH, Row, SqlTable

Result = TypeVar("Result")

_STORED: dict[str, Stored] = {
    "string": "text", "binary": "binary", "byte": "integer", "short": "integer", "integer": "integer",
    "long": "integer",
    "float": "float", "double": "float", "boolean": "boolean", "date": "date", "timestamp": "zoned",
    "timestamp_ntz": "timestamp",
    "array": "nested", "map": "nested", "struct": "nested", "variant": "nested", "void": "text",
    "time": "text", "daytimeinterval": "interval",
}  # fmt: skip


def is_spark_frame(table: Any) -> bool:
    """Whether something is a pyspark DataFrame, without importing pyspark."""
    return any(kind.__module__.startswith("pyspark.") and kind.__name__ == "DataFrame" for kind in type(table).__mro__)


class SparkTable(SqlTable):
    """A pyspark DataFrame; `name` is what the ledger knows it by."""

    dialect: ClassVar[SparkDialect] = SparkDialect()  # type: ignore[misc]

    def __init__(self, frame: Any, name: str | None = None) -> None:
        self._session = frame.sparkSession
        self.name = name
        self.names = tuple(map(str, frame.columns))
        self.stored = tuple(_stored(field.dataType.typeName()) for field in frame.schema.fields)
        self._views: list[str] = []
        self._cached: list[Any] = []
        self._finalizer = weakref.finalize(self, _drop, self._session, self._views, self._cached)
        # by position: no name of a column is ever part of a statement
        self.scan = self._view(frame.toDF(*(f"c{i}" for i in range(len(self.names)))))
        self._rows: int | None = None

    def __repr__(self) -> str:
        return f"SparkTable({self.name!r})"

    def rows(self, query: str) -> list[Row]:
        """All rows of an answer: one job."""
        return self._shielded(lambda: [tuple(row) for row in self._session.sql(query).collect()])

    def batches(self, query: str) -> Iterator[list[Row]]:
        """The rows of an answer, partition by partition."""
        stream = self._shielded(lambda: iter(self._session.sql(query).toLocalIterator()))
        while batch := self._shielded(lambda: _some(stream)):
            yield batch

    def prepared(self, query: str) -> str:
        """Codes on the executors' disks: made once, whatever becomes of the table."""
        from pyspark import StorageLevel

        frame = self._shielded(lambda: self._session.sql(query).persist(StorageLevel.DISK_ONLY))
        self._cached.append(frame)
        return self._view(frame)

    def fingerprint(self, columns: Sequence[int]) -> str | None:
        """A sum of the hashes of all rows, in one job."""
        some = ", ".join(f"c{at}" for at in columns)
        hashed = f"CAST(xxhash64({some}) AS DECIMAL(20, 0))"
        query = f"SELECT count(*), CAST(sum({hashed}) AS STRING) FROM {self.scan}"
        names = [self.names[at] for at in columns]
        return hashlib.sha256(repr((names, [str(v) for v in self.rows(query)[0]])).encode()).hexdigest()

    def beside(self, table: str) -> SparkTable:
        """Another table of the session."""
        return spark_table(table)

    def close(self) -> None:
        """Let the cluster forget the codes."""
        self._finalizer()

    def _view(self, frame: Any) -> str:
        name = f"kagemusha_{os.urandom(8).hex()}"
        self._shielded(lambda: frame.createOrReplaceTempView(name))
        self._views.append(name)
        return name

    def _shielded(self, call: Callable[[], Result]) -> Result:
        """The result of a call; what Spark says may quote values, and becomes a message of ours outside the handler."""
        try:
            return call()
        except Exception as error:
            kind = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        raise DataError(f"{self.name or 'the DataFrame'}: Spark could not answer ({kind}); its own log says more")


def spark_table(table: str | None) -> SparkTable:
    """A table by its name, in the session that is there, or in one that Spark's own settings describe."""
    if not table:
        raise UsageError("spark://: say which table is meant, with table=… (--table …)")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("reading Spark needs pyspark: pip install 'kagemusha[spark]'") from None
    session = SparkSession.getActiveSession() or SparkSession.builder.appName("kagemusha").getOrCreate()
    try:
        return SparkTable(session.table(table), f"spark://#{table}")
    except DataError:
        raise
    except Exception:
        pass
    raise DataError(f"spark://: there is no table {table!r}, or this user may not read it")


def _stored(kind: str) -> Stored:
    base = kind.partition("(")[0]
    return "decimal" if base == "decimal" else _STORED.get(base, "text" if base in ("char", "varchar") else "other")


def _some(stream: Iterator[Any]) -> list[Row]:
    batch: list[Row] = []
    for row in stream:
        batch.append(tuple(row))
        if len(batch) == BATCH:
            break
    return batch


def _drop(session: Any, views: list[str], cached: list[Any]) -> None:
    with suppress(Exception):
        for frame in cached:
            frame.unpersist()
        for view in views:
            session.catalog.dropTempView(view)
