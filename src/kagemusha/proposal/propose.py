"""A first draft of a schema, taken from the data. Reading the data makes it not private: every fact is marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kagemusha.columns.category import Category
from kagemusha.columns.column import Column
from kagemusha.encodings import guess_encoding, known_encoding
from kagemusha.errors import DataError
from kagemusha.proposal.draft import draft_column
from kagemusha.proposal.dtypes import as_held
from kagemusha.proposal.guesses import with_guesses
from kagemusha.proposal.servers import sql_columns
from kagemusha.schema.schema import Schema
from kagemusha.sources.header import arrow_batches, csv_header, distinct, file_head, shielded
from kagemusha.sources.lake import DuckTable, RawTable
from kagemusha.sources.open import is_file_like, located
from kagemusha.sources.rawfile import RawFile, is_text_file, open_file
from kagemusha.sources.sqltable import SqlTable

ROWS = 200_000
CELLS = 20_000_000


def propose(where: Any, *, rows: int = ROWS, encoding: str | None = None, table: str | None = None) -> Schema:
    """Draft a schema from a frame, a file or a table of a database, by looking at its first rows.

    At most `rows` rows and twenty million cells are looked at. Every fact found is listed as derived, to be
    confirmed or replaced by a person who knows what is public; until then a release is not private. A text file that is
    not UTF-8 is read in the `encoding` that is given, or else seems to be used. `table` names one of a database.
    """
    found = located(where, table=table)
    if isinstance(found, SqlTable):
        return with_guesses(Schema(_drafts(found.names, sql_columns(found, _most(rows, found.names)))))
    if isinstance(found, DuckTable):
        return with_guesses(Schema(_drafts(found.names, _file_columns(found, _most(rows, found.names)))))
    if not is_file_like(found):
        return with_guesses(Schema(_frame_drafts(found, rows)))
    used = known_encoding(encoding) or _guessed(Path(found))
    file = open_file(found, used)
    drafted = _drafts(file.names, _file_columns(file, _most(rows, file.names)))
    return with_guesses(Schema((_as_labelled(column, file) for column in drafted), encoding=used))


def column_names(path: Path) -> tuple[str, ...]:
    """The names of a file's columns, as a draft of it will call them: of a text file its first line alone says them."""
    encoding = _guessed(path)
    if is_text_file(path):
        return distinct(csv_header(path, encoding)[0])
    return open_file(path, encoding).names


def _most(rows: int, names: Sequence[str]) -> int:
    return min(rows, CELLS // len(names) + 1)


def _drafts(names: Sequence[str], columns: Iterable[Any]) -> Iterator[Column]:
    for name, values in zip(names, columns, strict=True):
        yield as_held(draft_column(name, values), values)


LABELLED = "the value labels in the file's own dictionary"


def _as_labelled(column: Column, file: RawFile) -> Column:
    """A category whose values the file's dictionary lists has those: a fact of the study, found in no record."""
    labels = file.labels.get(column.name, ())
    if len(set(labels)) < max(2, len(labels)) or column.as_labels is None:
        return column
    marks = tuple(mark for mark in column.derived if mark == "missing")
    return Category(column.name, categories=labels, missing=column.may_lack, derived=marks, confirmed=LABELLED)


def _guessed(path: Path) -> str | None:
    return guess_encoding(file_head(path)) if path.is_file() and is_text_file(path) else None


def propose_kinds(where: Any, *, rows: int = ROWS, encoding: str | None = None, table: str | None = None) -> Schema:
    """Draft kinds (and formats of dates) only; categories and bounds stay open, for private discovery.

    Even a kind read off the data is marked until a person confirms it. Values may be missing in every column, so
    that this says nothing about the data.
    """
    drafted = propose(where, rows=rows, encoding=encoding, table=table)
    return Schema((column.kind_only() for column in drafted), encoding=drafted.encoding)


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


def _frame_drafts(frame: Any, rows: int) -> Iterator[Column]:
    import narwhals as nw

    try:
        opened = nw.from_native(frame)
    except Exception:
        opened = None
    if opened is None:
        raise DataError("this is no table with distinct column names; give a pandas, polars or pyarrow table")
    names = list(opened.collect_schema().names())
    if not names:
        raise DataError("the table has no columns")
    head = opened.head(min(rows, CELLS // len(names) + 1))
    head = head.collect() if isinstance(head, nw.LazyFrame) else head
    if not len(head):
        raise DataError("the table has no rows")
    for name in names:
        try:
            values = head[name].to_arrow()
        except Exception:
            values = None
        native = "" if head.implementation.is_pyarrow() else head[name].to_native().dtype
        yield as_held(draft_column(str(name), values), values, native)
