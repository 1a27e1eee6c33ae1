"""A private table whose schema still leaves categories or bounds open: it can be asked which values it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.encoding.arrow import check_flat, plain_values
from kagemusha.encoding.frames import check_names, column_values, open_frame
from kagemusha.encoding.sql import Stored, plain_sql
from kagemusha.encoding.values import Plain, label_text
from kagemusha.schema import Category, Labelled, Schema
from kagemusha.sources.bounding import Persons, bounded
from kagemusha.sources.engine import shielded
from kagemusha.sources.file import FileSource, as_plain
from kagemusha.sources.frame import FrameSource, unit_values
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


def bounded_counts(values: Sequence[Plain], whose: Sequence[Plain], most: int) -> ValueCounts:
    """Counts over the rows that stay; which ones, the value itself decides here, as the codes are not known yet."""
    known = Persons()
    persons = known.number(whose)
    labels = np.array([label_text(value) or "" for value in values], dtype=object)
    stay = bounded(persons, known.names, [labels], most)
    return ValueCounts.of(Counter(values[row] for row in stay.tolist()).items())


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
        opened = open_frame(self._frame)
        values = column_values(opened, column)
        unit = self.schema.unit
        if unit.column is not None:
            plain_ones = values if isinstance(values, list) else plain_values(values)
            return bounded_counts(plain_ones, unit_values(opened, unit.column), unit.max_rows)
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
        unit = self.schema.unit
        if unit.column is not None:
            return self._bounded(value, stored, unit.column, unit.max_rows)
        with self._file.reading() as (connection, scan):
            query = f"SELECT {value} AS label, count(*) FROM {scan} GROUP BY 1"
            found = shielded(self._file.path, lambda: connection.execute(query).fetchall())
        self._file.check_count(sum(count for _, count in found))
        return ValueCounts.of((as_plain(v, stored), count) for v, count in found)

    def _bounded(self, value: str, stored: Stored, person: str, most: int) -> ValueCounts:
        at = self._file.names.index(person)
        whose = plain_sql(Category(person), self._file.stored[at], self._file.source(at))
        with self._file.reading() as (connection, scan):
            query = f"SELECT {value}, {whose} FROM {scan}"
            found = shielded(self._file.path, lambda: connection.execute(query).fetchall())
        self._file.check_count(len(found))
        values = [as_plain(v, stored) for v, _ in found]
        return bounded_counts(values, [as_plain(p, self._file.stored[at]) for _, p in found], most)

    def with_schema(self, schema: Schema) -> Source:
        """The same file behind a closed schema."""
        return FileSource(self._path, schema)


def open_table(table: Any, schema: Schema) -> OpenTable:
    """A frame or file whose schema leaves facts open; raises what `open_source` raises."""
    return OpenFile(table, schema) if isinstance(table, str | PathLike) else OpenFrame(table, schema)
