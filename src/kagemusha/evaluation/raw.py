"""A table as people see it: numbers as numbers, dates as days, texts as they stand.

INTERNAL where the table is real.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.arrow import plain_values
from kagemusha.columns.parse import TextReader
from kagemusha.columns.values import Plain, label_text
from kagemusha.encoding.frames import column_values, open_frame
from kagemusha.files import holds_pictures
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Modelled, Schema
from kagemusha.sources import Source
from kagemusha.sources.rawfile import open_file

RAW_ROWS = 500_000
"""Rows of each side that are looked at value by value; of longer tables, so many at random."""


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of one column. A cell is a number, a text that is no number, or nothing."""

    name: str
    kind: str
    """number, moment (days since 1970) or label."""
    numbers: FloatArray
    """NaN where a cell holds no number; of labels, NaN everywhere."""
    words: Sequence[str]
    """The different texts; numbers of a measured column are not among them."""
    texts: IntArray
    """For each row the place of its text in `words`; -1 where it has none."""

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.texts)

    @property
    def missing(self) -> FloatArray:
        """Where there is neither number nor text: 1, else 0."""
        return (np.isnan(self.numbers) & (self.texts < 0)).astype(np.float64)

    def take(self, rows: IntArray) -> RawColumn:
        """Some of the rows."""
        return RawColumn(self.name, self.kind, self.numbers[rows], self.words, self.texts[rows])


@dataclass(frozen=True, eq=False)
class RawTable:
    """The modelled columns of a table, value by value."""

    columns: Mapping[str, RawColumn]
    rows: int
    of: int
    """Rows that the table has; more than `rows` if they were taken at random."""

    def __getitem__(self, name: str) -> RawColumn:
        return self.columns[name]

    def of_kind(self, kind: str) -> list[RawColumn]:
        """The columns of one kind, in order."""
        return [column for column in self.columns.values() if column.kind == kind]

    def sampled(self, most: int, rng: np.random.Generator) -> RawTable:
        """At most `most` rows, taken at random without repeats."""
        if self.rows <= most:
            return self
        rows = np.sort(rng.choice(self.rows, most, replace=False))
        return RawTable({name: column.take(rows) for name, column in self.columns.items()}, most, self.of)


def read_raw(table: Any, schema: Schema, *, rng: np.random.Generator, most: int = RAW_ROWS) -> RawTable | None:
    """The values of a file or a frame; None for what holds codes alone."""
    if isinstance(table, CodedTable | np.ndarray | Source) or holds_pictures(table):
        return None
    reader = TextReader()
    try:
        cells = _of_file(table, schema) if isinstance(table, str | PathLike) else _of_frame(table, schema)
        columns = {column.name: _column(column, values, reader) for column, values in cells}
    finally:
        reader.close()
    rows = next(iter(columns.values())).rows
    return RawTable(columns, rows, rows).sampled(most, rng)


def _of_frame(frame: Any, schema: Schema) -> list[tuple[Modelled, Any]]:
    opened = open_frame(frame)
    return [(column, column_values(opened, column.name)) for column in _seen(schema, opened.columns)]


def _of_file(path: str | PathLike[str], schema: Schema) -> list[tuple[Modelled, Any]]:
    file = open_file(path, schema.encoding)
    places = {name: i for i, name in enumerate(file.names)}
    wanted = [(column, places[column.name]) for column in _seen(schema, file.names)]
    with file.reading() as (connection, table):
        chosen = ", ".join(f"{file.source(at)} AS v{at}" for _, at in wanted)
        found = connection.sql(f"SELECT {chosen} FROM {table}").to_arrow_table()
    return [(column, found[f"v{at}"]) for column, at in wanted]


def _seen(schema: Schema, names: Sequence[str]) -> list[Modelled]:
    """The columns with values of their own that the table holds; what is dropped or made up is not looked at."""
    there = set(names)
    return [column for column in schema.with_codes if column.name in there]


def _column(column: Modelled, values: Any, reader: TextReader) -> RawColumn:
    """Each distinct value is read once, by the reader that reads it for a release."""
    distinct, places = _distinct(values)
    words: dict[str, int] = {}
    texts = np.full(len(distinct), -1, dtype=np.int64)
    numbers = np.full(len(distinct), np.nan)
    specials: Mapping[float, int] = {}
    if (axis := column.axis) is not None:
        numbers, specials = axis.measures(distinct, reader), axis.named_numbers
    for i, value in enumerate(distinct):
        if numbers[i] in specials:  # 9999 stands for "unknown": a text like any other
            texts[i] = words.setdefault(f"{numbers[i]:g}", len(words))
            numbers[i] = np.nan
        if not np.isnan(numbers[i]) or texts[i] >= 0:
            continue
        text = label_text(value)
        if text is not None and text.strip():
            texts[i] = words.setdefault(text, len(words))
    return RawColumn(column.name, column.sort, numbers[places], tuple(words), texts[places])


def _distinct(values: Any) -> tuple[list[Plain], IntArray]:
    """The different values in plain form, and for each row which of them it holds."""
    import pyarrow as pa

    if isinstance(values, list):
        order: dict[Plain, int] = {}
        places = [order.setdefault(value, len(order)) for value in values]
        return list(order), np.array(places, dtype=np.int64)
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(whole, pa.ChunkedArray):  # what is too long for one chunk stays in several
        whole = pa.concat_arrays(whole.chunks)
    coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    distinct = [*plain_values(coded.dictionary), None]
    indices = coded.indices.cast(pa.int64()).fill_null(len(distinct) - 1)
    return distinct, indices.to_numpy(zero_copy_only=False)
