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
from kagemusha.columns.arrow import check_flat, plain_values
from kagemusha.columns.dialect import DUCK
from kagemusha.columns.pushed import plain_columns, plain_of
from kagemusha.columns.stored import Stored
from kagemusha.columns.values import Plain, label_text
from kagemusha.encoding.frames import check_names, column_values, open_frame
from kagemusha.identity import Identity
from kagemusha.schema import Category, Labelled, Schema
from kagemusha.sources.bounding import Persons, bounded
from kagemusha.sources.file import FileSource
from kagemusha.sources.frame import FrameSource, unit_values
from kagemusha.sources.header import shielded
from kagemusha.sources.lake import RawTable, full_name, identity_of, open_files
from kagemusha.sources.protocol import Source
from kagemusha.sources.sql import SqlSource
from kagemusha.sources.sqltable import SqlTable


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

        Labels are texts, one for all forms of a value: which of them a table uses depends on single records.
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

    def identity(self) -> Identity | None:
        """Digests by which a ledger knows the table again, where they are cheap to make; private."""
        return None

    @abstractmethod
    def count_values(self, name: str) -> ValueCounts:
        """Every label of a labelled column with its count."""

    @abstractmethod
    def with_schema(self, schema: Schema) -> Source:
        """The same table behind a schema that leaves nothing open."""

    def _labelled(self, name: str) -> Labelled:
        column = self.schema[name].as_labels
        assert column is not None, "only lists of labels are found value by value"
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
        values = column_values(opened, name)
        unit = self.schema.unit
        if unit.column is not None:
            plain_ones = values if isinstance(values, list) else plain_values(values)
            return bounded_counts(plain_ones, unit_values(opened, unit.column), unit.max_rows)
        if isinstance(values, list):
            return ValueCounts.of(Counter(values).items())
        check_flat(name, column.kind, values.type)
        found = values.value_counts()
        return ValueCounts.of(zip(plain_values(found.field("values")), found.field("counts").to_pylist(), strict=True))

    def with_schema(self, schema: Schema) -> Source:
        """The same frame behind a closed schema."""
        return FrameSource(self._frame, schema)


class OpenFile(OpenTable):
    """CSV or Parquet files, or a table of a DuckDB database."""

    def __init__(self, table: str | PathLike[str] | RawTable, schema: Schema) -> None:
        self.schema = schema
        self._table = table
        self._files: list[RawTable] = (
            open_files(table, schema.encoding) if isinstance(table, str | PathLike) else [table]
        )
        shown = str(table) if isinstance(table, str | PathLike) else str(table.path)
        check_names(self._files[0].names, schema, shown)
        self.name = full_name(table)

    def identity(self) -> Identity:
        """Digests of the files and of their rows; private."""
        return identity_of(self._files)

    def count_values(self, name: str) -> ValueCounts:
        """Every label with its count, grouped by DuckDB in one pass over each file."""
        unit = self.schema.unit
        if unit.column is not None:
            values: list[Plain] = []
            whose: list[Plain] = []
            for file in self._files:
                value, stored = self._plain(file, name, self._labelled(name))
                person, kind = self._plain(file, unit.column, Category(unit.column))
                rows = _all_rows(
                    file, f"SELECT {value}, {person} FROM {{}}"
                )  # in one scan: another may have another order
                file.check_count(len(rows))
                values += [plain_of(row[0], stored) for row in rows]
                whose += [plain_of(row[1], kind) for row in rows]
            return bounded_counts(values, whose, unit.max_rows)
        found: Counter[Plain] = Counter()
        for file in self._files:
            value, stored = self._plain(file, name, self._labelled(name))
            rows = _all_rows(file, f"SELECT {value} AS label, count(*) FROM {{}} GROUP BY 1")
            file.check_count(sum(count for _, count in rows))
            for label, count in rows:
                found[plain_of(label, stored)] += count
        return ValueCounts.of(found.items())

    @staticmethod
    def _plain(file: RawTable, name: str, column: Labelled) -> tuple[str, Stored]:
        at = file.names.index(name)
        return column.plain_sql(file.stored[at], file.source(at), DUCK), file.stored[at]

    def with_schema(self, schema: Schema) -> Source:
        """The same files behind a closed schema."""
        return FileSource(self._table, schema)


def _all_rows(file: RawTable, query: str) -> list[tuple[Any, ...]]:
    """All rows of a query over a file, whose place in it is {}."""
    with file.reading() as (connection, scan):
        whole = query.replace("{}", scan)
        return shielded(file.path, lambda: list(connection.execute(whole).fetchall()))


class OpenSql(OpenTable):
    """A table inside an engine."""

    def __init__(self, table: SqlTable, schema: Schema) -> None:
        self.schema = schema
        self._table = table
        self.name = table.known_as
        check_names(table.names, schema, table.name or "the table")

    def identity(self) -> Identity | None:
        """A digest of all columns that are named, and what the engine says the table is; private."""
        named = {column.name for column in self.schema}
        return self._table.identity([at for at, name in enumerate(self._table.names) if name in named])

    def count_values(self, name: str) -> ValueCounts:
        """Every label with its count, grouped by the engine in one scan."""
        unit = self.schema.unit
        value, stored = self._raw(name)
        if unit.column is None:
            rows = self._table.batches(
                f"SELECT v, count(*) FROM (SELECT {value} AS v FROM {self._table.scan}) AS raws GROUP BY v"
            )
            return ValueCounts.of((plain_of(v, stored), int(count)) for batch in rows for v, count in batch)
        person, kind = self._raw(unit.column)
        values: list[Plain] = []
        whose: list[Plain] = []
        for batch in self._table.batches(f"SELECT {value}, {person} FROM {self._table.scan}"):
            columns = plain_columns(batch, (stored, kind))
            values += columns[0]
            whose += columns[1]
        return bounded_counts(values, whose, unit.max_rows)

    def _raw(self, name: str) -> tuple[str, Stored]:
        at = self._table.names.index(name)
        return self._table.dialect.raw(f"c{at}", self._table.stored[at]), self._table.stored[at]

    def with_schema(self, schema: Schema) -> Source:
        """The same table, in the same state, behind a closed schema."""
        return SqlSource(self._table, schema)
