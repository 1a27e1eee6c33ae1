"""A first draft of a schema, taken from the data. Reading the data makes it not private: every fact is marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kagemusha.columns.category import Category
from kagemusha.columns.cells import Cells
from kagemusha.columns.column import Column
from kagemusha.columns.parse import TextReader
from kagemusha.columns.values import is_missing
from kagemusha.encoding.frames import is_foreign
from kagemusha.encodings import guess_encoding, known_encoding
from kagemusha.errors import DataError
from kagemusha.proposal.draft import draft_column
from kagemusha.proposal.dtypes import as_held, held_by
from kagemusha.proposal.guesses import with_guesses
from kagemusha.proposal.servers import sql_columns
from kagemusha.rules.patterns import looked_at, seen
from kagemusha.schema.schema import Schema
from kagemusha.sources.header import arrow_batches, csv_header, distinct, file_head, shielded
from kagemusha.sources.lake import DuckTable, RawTable, is_pattern, open_files
from kagemusha.sources.open import is_file_like, located
from kagemusha.sources.rawfile import is_text_file, open_file
from kagemusha.sources.sqltable import SqlTable

ROWS = 200_000
CELLS = 20_000_000
ROWS_OF_RULES = 50_000
"""Rows that are looked at for rules: what never occurs in so many is worth a question."""
MOST_LOOKED_AT = 200
"""Columns that are looked at for rules."""


def propose(where: Any, *, rows: int = ROWS, encoding: str | None = None, table: str | None = None) -> Schema:
    """Draft a schema from a frame, a file or a table of a database, by looking at its first rows.

    At most `rows` rows and twenty million cells are looked at. Every fact found is listed as derived, to be
    confirmed or replaced by a person who knows what is public; until then a release is not private. A text file that is
    not UTF-8 is read in the `encoding` that is given, or else seems to be used. `table` names one of a database.
    """
    found = located(where, table=table)
    if isinstance(found, SqlTable):
        return _drafted(zip(found.names, sql_columns(found, _most(rows, found.names)), strict=True))
    if isinstance(found, DuckTable):
        return _drafted(zip(found.names, _file_columns(found, _most(rows, found.names)), strict=True))
    if not is_file_like(found):
        return _drafted(_frame_columns(found, rows), frame=held_by(found))
    used = known_encoding(encoding) or _guessed(Path(found))
    if is_pattern(found):
        return _drafted(_columns_of(open_files(found, used), rows), encoding=used)
    file = open_file(found, used)
    columns = zip(file.names, _file_columns(file, _most(rows, file.names)), strict=True)
    return _drafted(columns, encoding=used, labels=file.labels)


def column_names(path: Path) -> tuple[str, ...]:
    """The names of a file's columns, as a draft of it will call them: of a text file its first line alone says them."""
    encoding = _guessed(path)
    if is_text_file(path):
        return distinct(csv_header(path, encoding)[0])
    return open_file(path, encoding).names


def _most(rows: int, names: Sequence[str]) -> int:
    return min(rows, CELLS // len(names) + 1)


def _drafted(
    columns: Iterable[tuple[str, Any]],
    encoding: str | None = None,
    labels: Mapping[str, Sequence[str]] = MappingProxyType({}),
    frame: str | None = None,
) -> Schema:
    """Every column by itself, then the rules that their names, and the rows, suggest."""
    drafts: list[Column] = []
    read: dict[str, Any] = {}
    for name, found in columns:
        values, native = found if isinstance(found, tuple) else (found, "")
        column = _as_labelled(as_held(draft_column(name, values), values, native), labels.get(name, ()))
        drafts.append(column)
        if values is not None and column.in_doubles and len(read) < MOST_LOOKED_AT:
            read[name] = values.slice(0, ROWS_OF_RULES)
    schema = Schema(drafts, encoding=encoding, frame=frame)
    return with_guesses(schema, seen(schema, dict(_cells(schema, read))))


def _cells(schema: Schema, read: Mapping[str, Any]) -> Iterator[tuple[str, Cells]]:
    import pyarrow as pa

    reader = TextReader()
    try:
        for column in chain(*looked_at(schema)):
            if (values := read.get(column.name)) is not None:
                flat = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
                yield column.name, column.read(flat, reader)
    finally:
        reader.close()


def _as_labelled(column: Column, labels: Sequence[str]) -> Column:
    """A category whose values the file's dictionary lists has those, in its order, to be confirmed like any draft.

    Whoever planned the study wrote the dictionary, or a program made it of the values it met (pandas does): the file
    does not say which, and a label may be one person's answer.
    """
    if len(set(labels)) < max(2, len(labels)) or column.as_labels is None:
        return column
    marks = ("categories", *(mark for mark in column.derived if mark == "missing"))
    return Category(column.name, categories=tuple(labels), missing=column.may_lack, derived=marks)


def _guessed(path: Path) -> str | None:
    return guess_encoding(file_head(path)) if path.is_file() and is_text_file(path) else None


def propose_kinds(where: Any, *, rows: int = ROWS, encoding: str | None = None, table: str | None = None) -> Schema:
    """Draft kinds (and formats of dates) only; categories and bounds stay open, for private discovery.

    Even a kind read off the data is marked until a person confirms it. Values may be missing in every column, so
    that this says nothing about the data.
    """
    drafted = propose(where, rows=rows, encoding=encoding, table=table)
    return Schema((column.kind_only() for column in drafted), encoding=drafted.encoding, frame=drafted.frame)


def _columns_of(files: Sequence[RawTable], rows: int) -> Iterator[tuple[str, Any]]:
    """The columns of several files that are one table: as many rows of each."""
    import pyarrow as pa

    each = -(-_most(rows, files[0].names) // len(files))
    found = [dict(zip(file.names, _file_columns(file, each), strict=True)) for file in files]
    for name in files[0].names:
        yield name, pa.chunked_array([chunk for columns in found for chunk in columns[name].chunks])


def _file_columns(file: RawTable, rows: int) -> Iterator[Any]:
    with file.reading() as (connection, scan):
        # a LIMIT would set memory aside for all columns at once, which thousands of them do not get
        arrow = shielded(file.path, lambda: _first(connection.sql(f"SELECT * FROM {scan}"), rows))
    if not arrow.num_rows:
        raise DataError(f"{file.path}: the file has a header but no rows")
    for stored, values in zip(file.stored, arrow.columns, strict=True):
        yield values.cast("timestamp[ms]") if stored == "milliseconds" else values


def _first(relation: Any, rows: int) -> Any:
    """An arrow table of the first rows; no more of the relation is worked out."""
    import pyarrow as pa

    reader = arrow_batches(relation, 10_000)
    batches: list[Any] = []
    for batch in reader:
        batches.append(batch)
        if sum(map(len, batches)) >= rows:
            break
    return pa.Table.from_batches(batches, schema=reader.schema).slice(0, rows)


def _frame_columns(frame: Any, rows: int) -> Iterator[tuple[str, Any]]:
    import narwhals as nw
    import pyarrow as pa

    try:
        opened = nw.from_native(frame)
    except Exception:
        opened = None
    if opened is None:
        raise DataError("this is no table with distinct column names; give a pandas, polars or pyarrow table")
    names = list(opened.collect_schema().names())
    if not names:
        raise DataError("the table has no columns")
    if not all(isinstance(name, str) for name in names):
        raise DataError("names of columns must be texts; pandas: table.columns = map(str, table.columns)")
    head = opened.head(min(rows, CELLS // len(names) + 1))
    head = head.collect() if isinstance(head, nw.LazyFrame) else head
    if not len(head):
        raise DataError("the table has no rows")
    for name in names:
        try:
            values = head[name].to_arrow()
            if is_foreign(values.type):
                values = pa.array([None if is_missing(one) else str(one) for one in head[name].to_list()], pa.string())
        except Exception:
            values = None
        native = "" if head.implementation.is_pyarrow() else head[name].to_native().dtype
        yield str(name), (values, native)
