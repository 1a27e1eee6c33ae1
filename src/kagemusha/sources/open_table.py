"""A private table whose schema still leaves categories or bounds open: it can be asked which values it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.encoding.arrow import check_flat, plain_values
from kagemusha.encoding.frames import check_names, column_values, open_frame
from kagemusha.encoding.sql import MOMENTS, plain_sql
from kagemusha.encoding.values import Instant, Plain, label_text, plain
from kagemusha.schema import Labelled, Schema
from kagemusha.sources.engine import shielded
from kagemusha.sources.file import FileSource
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.protocol import Source
from kagemusha.sources.rawfile import open_file


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Every label a column holds and how often, most frequent first. Private: do not store, print or return it."""

    labels: tuple[str, ...]
    counts: IntArray

    def __repr__(self) -> str:
        return "ValueCounts(<private>)"

    @classmethod
    def of(cls, found: Iterable[tuple[Plain, int]]) -> ValueCounts:
        """Plain values with their counts; missing values and what no schema can hold left out.

        Labels are texts, one for all forms of a value: which of them a table uses hangs on single records.
        """
        sums: dict[str, int] = {}
        for value, count in found:
            text = label_text(value)
            if text and "\0" not in text and text.encode("utf-8", "ignore").decode() == text:
                sums[text] = sums.get(text, 0) + int(count)
        # rare values last: one record more or less then leaves the place of all others as it is
        texts = tuple(sorted(sums, key=lambda text: (-sums[text], text)))
        return cls(texts, np.array([sums[text] for text in texts], dtype=np.int64))


class OpenTable(ABC):
    """A private table before its domain is known. Every answer is exact and private; only a release may ask."""

    schema: Schema
    name: str | None = None
    """What the table is known by everywhere, such as the path of its file; None for a table in memory."""

    def fingerprint(self) -> str | None:
        """A digest of the table that changes when it does, where one is cheap to make; private."""
        return None

    @abstractmethod
    def count_values(self, name: str) -> ValueCounts:
        """Every label of a labelled column with its count."""

    @abstractmethod
    def with_schema(self, schema: Schema) -> Source:
        """The same table behind a schema that leaves nothing open."""

    def _labelled(self, name: str) -> Labelled:
        column = self.schema[name]
        assert isinstance(column, Labelled)
        return column


class OpenFrame(OpenTable):
    """A frame in memory."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        self.schema = schema
        self._frame = frame
        check_names(open_frame(frame).columns, schema)

    def count_values(self, name: str) -> ValueCounts:
        """Every label with its count."""
        column = self._labelled(name)
        values = column_values(open_frame(self._frame), column)
        if isinstance(values, list):
            return ValueCounts.of(Counter(values).items())
        check_flat(column, values.type)
        found = values.value_counts()
        return ValueCounts.of(zip(plain_values(found.field("values")), found.field("counts").to_pylist(), strict=True))

    def with_schema(self, schema: Schema) -> Source:
        """The same frame behind a closed schema."""
        return FrameSource(self._frame, schema)


class OpenFile(OpenTable):
    """A CSV or Parquet file."""

    def __init__(self, path: str | PathLike[str], schema: Schema) -> None:
        self.schema = schema
        self._path = path
        self._file = open_file(path)
        self.name = str(self._file.path.resolve())
        check_names(self._file.names, schema, str(path))

    def fingerprint(self) -> str:
        """A digest of the file; private."""
        return self._file.fingerprint()

    def count_values(self, name: str) -> ValueCounts:
        """Every label with its count, grouped by DuckDB in one pass over the file."""
        at = self._file.names.index(name)
        stored = self._file.stored[at]
        value = plain_sql(self._labelled(name), stored, self._file.source(at))
        with self._file.reading() as (connection, scan):
            query = f"SELECT {value} AS label, count(*) FROM {scan} GROUP BY 1"
            found = shielded(self._file.path, lambda: connection.execute(query).fetchall())
        self._file.check_count(sum(count for _, count in found))
        moments = stored in MOMENTS
        return ValueCounts.of((Instant(v) if moments and v is not None else plain(v), count) for v, count in found)

    def with_schema(self, schema: Schema) -> Source:
        """The same file behind a closed schema."""
        return FileSource(self._path, schema)


def open_table(table: Any, schema: Schema) -> OpenTable:
    """A frame or file whose schema leaves facts open; raises what `open_source` raises."""
    return OpenFile(table, schema) if isinstance(table, str | PathLike) else OpenFrame(table, schema)
