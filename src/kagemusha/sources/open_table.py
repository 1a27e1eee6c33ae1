"""A private table whose schema still leaves categories or bounds open: it can be asked which values it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.encoding.arrow import check_plain, python_values
from kagemusha.encoding.frames import arrow_column, check_names, open_frame
from kagemusha.encoding.sql import as_text, check_stored
from kagemusha.encoding.values import label_text
from kagemusha.errors import DataError
from kagemusha.schema import Labelled, Schema
from kagemusha.sources.bounding import bounded, bounded_sql, person_sql, persons_of
from kagemusha.sources.file import FileSource
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.protocol import Source
from kagemusha.sources.rawfile import connect, open_file, shielded


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Every label a column holds and how often, most frequent first. Private: do not store, print or return it."""

    labels: tuple[str, ...]
    counts: IntArray

    def __repr__(self) -> str:
        return "ValueCounts(<private>)"

    @classmethod
    def of(cls, found: Iterable[tuple[str | None, int]]) -> ValueCounts:
        """Texts with their counts; missing values and what no schema can hold left out.

        Labels stay texts: whether a frame holds a column as numbers hangs on single records.
        """
        sums: dict[str, int] = {}
        for text, count in found:
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
        opened = open_frame(frame)
        check_names(opened.columns, schema)
        if not len(opened):
            raise DataError("the table has no rows")

    def count_values(self, name: str) -> ValueCounts:
        """Every label with its count."""
        column = self._labelled(name)
        opened = open_frame(self._frame)
        values = arrow_column(opened, column)
        check_plain(column, values.type)
        values = self._bounded(opened, values)
        found = values.value_counts()
        texts = map(label_text, python_values(found.field("values")))
        return ValueCounts.of(zip(texts, found.field("counts").to_pylist(), strict=True))

    def _bounded(self, opened: Any, values: Any) -> Any:
        """The values of the rows that stay; which ones, the value itself decides here, as the codes are not known yet."""
        unit = self.schema.unit
        if unit.column is None:
            return values
        persons, names = persons_of(opened[unit.column].to_list())
        labels = np.array([label_text(value) or "" for value in python_values(values)], dtype=object)
        return values.take(bounded(persons, names, [labels], unit.max_rows))

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
        check_stored(self._labelled(name), stored)
        label = as_text(self._file.source(at), stored)
        query = f"SELECT label, count(*) FROM ({self._labels(label)}) GROUP BY 1"
        self._file.check_unchanged()
        with connect() as connection:
            found = shielded(self._file.path, lambda: connection.execute(query).fetchall())
        return ValueCounts.of(found)

    def _labels(self, label: str) -> str:
        """The query of all labels; with a unit column, of the rows that stay."""
        unit = self.schema.unit
        if unit.column is None:
            return f"SELECT {label} AS label FROM {self._file.scan()}"
        at = self._file.names.index(unit.column)
        person = person_sql(self._file.source(at), self._file.stored[at])
        select = f"SELECT {label} AS label, {person} AS person FROM {self._file.scan()}"
        return bounded_sql(select, ["coalesce(label, '')"], unit.max_rows)

    def with_schema(self, schema: Schema) -> Source:
        """The same file behind a closed schema."""
        return FileSource(self._path, schema)


def open_table(table: Any, schema: Schema) -> OpenTable:
    """A frame or file whose schema leaves facts open; raises what `open_source` raises."""
    return OpenFile(table, schema) if isinstance(table, str | PathLike) else OpenFrame(table, schema)
