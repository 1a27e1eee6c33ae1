"""A first draft of a schema, taken from the data. Reading the data makes it not private: every fact is marked."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

from kagemusha.columns.column import Column
from kagemusha.errors import DataError
from kagemusha.proposal.draft import draft_column
from kagemusha.proposal.guesses import with_guesses
from kagemusha.schema.schema import Schema
from kagemusha.sources.header import arrow_batches, shielded
from kagemusha.sources.rawfile import RawFile, open_file

ROWS = 200_000
CELLS = 20_000_000


def propose(table: Any, *, rows: int = ROWS) -> Schema:
    """Draft a schema from a frame or from a CSV or Parquet file, by looking at its first rows.

    At most `rows` rows and twenty million cells are looked at. Every fact found is listed as derived, to be
    confirmed or replaced by a person who knows what is public; until then a release is not private.
    """
    if isinstance(table, str | PathLike):
        file = open_file(table)
        columns = _file_columns(file, min(rows, CELLS // len(file.names) + 1))
        return with_guesses(Schema(draft_column(name, values) for name, values in columns))
    return with_guesses(Schema(_frame_drafts(table, rows)))


def propose_kinds(table: Any, *, rows: int = ROWS) -> Schema:
    """Draft kinds (and formats of dates) only; categories and bounds stay open, for private discovery.

    Even a kind read off the data is marked until a person confirms it. Values may be missing in every column, so
    that this says nothing about the data.
    """
    return Schema(column.kind_only() for column in propose(table, rows=rows))


def _file_columns(file: RawFile, rows: int) -> Iterator[tuple[str, Any]]:
    with file.reading() as (connection, scan):
        # a LIMIT would set memory aside for all columns at once, which thousands of them do not get
        arrow = shielded(file.path, lambda: _first(connection.sql(f"SELECT * FROM {scan}"), rows))
    if not arrow.num_rows:
        raise DataError(f"{file.path}: the file has a header but no rows")
    for name, stored, values in zip(file.names, file.stored, arrow.columns, strict=True):
        yield name, values.cast("timestamp[ms]") if stored == "milliseconds" else values


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
        yield draft_column(str(name), values)
