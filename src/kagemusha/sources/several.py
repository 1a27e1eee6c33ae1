"""Several tables from wherever they are: a dict of frames, a folder of files, a DuckDB database."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.columns.cells import Cells
from kagemusha.columns.parse import TextReader
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import column_values, library_of, open_frame
from kagemusha.errors import DataError, UsageError
from kagemusha.files import TABLE_FILES, scheme_of
from kagemusha.identity import Identity
from kagemusha.schema import Column, Drop, Schema
from kagemusha.schema.related import Related, Table
from kagemusha.sources.bounding import Persons
from kagemusha.sources.file import CHUNK
from kagemusha.sources.frame import unit_values
from kagemusha.sources.header import arrow_batches, shielded
from kagemusha.sources.lake import DuckTable, RawTable, full_name, identity_of, open_duckdb, open_files
from kagemusha.sources.linked import ReadTable, mixed, starts_of
from kagemusha.sources.steps import RelatedSource


def open_related(where: Any, related: Related) -> RelatedSource:
    """Read all tables of a schema.

    `where` is a mapping from names of tables to frames or files, a folder that holds a file of each table's name, or
    `duckdb:///file.db`. Raises `DataError` where tables or keys do not fit; nothing is spent by then.
    """
    if isinstance(where, RelatedSource):
        return where
    own = [table for table in related if table.first_of is None]
    found = {table.name: _place(where, table) for table in own}
    read: dict[str, ReadTable] = {}
    for table in own:
        frames = _frames(found[table.name])
        if related.root.first_of == table.name:
            both = {c.name: c for t in (related.root, table) for c in t.schema}
            read[table.name] = _read(frames, table, both)
            read[related.root.name] = _first(_read(frames, related.root, both), read[table.name].order)
        else:
            read[table.name] = _read(frames, table)
    source = RelatedSource(related, read, name=_name(where), known=_identity(found))
    frame = next(iter(found.values()))
    source.native = "pyarrow" if isinstance(frame, list) else library_of(frame)
    return source


def _first(read: ReadTable, order: FloatArray | None) -> ReadTable:
    """One row per identifier: the first in the order, and of those the first by their contents, mixed."""
    known = Persons()
    keys = known.number(read.key)
    moments = np.zeros(read.rows) if order is None else order
    rows = np.lexsort((mixed(read.columns, read.rows), moments, keys))
    rows = rows[starts_of(keys[rows]) & (keys[rows] >= 0)]
    return ReadTable([column[rows] for column in read.columns], [read.key[row] for row in rows.tolist()], None, None)


def _place(where: Any, table: Table) -> Any:
    """A frame, or the files that are the table together."""
    if isinstance(where, Mapping):
        if table.name not in where:
            raise UsageError(f"there is no table {table.name!r} among {', '.join(map(str, where))}")
        own = where[table.name]
        return open_files(own, table.schema.encoding) if isinstance(own, str | PathLike) else own
    if not isinstance(where, str | PathLike):
        raise UsageError(
            f"related tables come as a dict of frames, a folder or duckdb:///…, got {type(where).__name__}"
        )
    scheme = scheme_of(where)
    if scheme == "duckdb":
        return [open_duckdb(str(where), table.name)]
    if scheme is not None:
        raise UsageError(f"related tables are read from frames, folders and duckdb:///… so far, not from {scheme}")
    folder = Path(where)
    files = [folder / f"{table.name}{suffix}" for suffix in TABLE_FILES]
    there = [file for file in files if file.is_file()]
    if len(there) != 1:
        what = "no file" if not there else "more than one file"
        raise DataError(f"{folder}: {what} for the table {table.name!r}; {table.name}.csv or .parquet is looked for")
    return open_files(there[0], table.schema.encoding)


def _name(where: Any) -> str | None:
    if isinstance(where, str | PathLike):
        return str(where) if scheme_of(where) is not None else full_name(where)
    return None


def _identity(found: Mapping[str, Any]) -> Identity | None:
    """That of all files together; frames have none."""
    known = [identity_of(files) for files in found.values() if isinstance(files, list)]
    if len(known) < len(found):
        return None
    state = hashlib.sha256(" ".join(one.state for one in known).encode()).hexdigest()
    return Identity(state, tuple(dict.fromkeys(same for one in known for same in one.same)))


def _frames(place: Any) -> list[Any]:
    """The frames of a table: one, or one for each file."""
    return [open_frame(_loaded(file)) for file in place] if isinstance(place, list) else [open_frame(place)]


def _read(frames: Sequence[Any], table: Table, both: Mapping[str, Column] | None = None) -> ReadTable:
    """A table from its frames; where two are in one, `both` holds the columns of either."""
    others = [Drop(name) for name in both or () if name not in table.schema.names]
    parts = [_read_frame(frame, table, table.schema.with_columns(*others)) for frame in frames]
    if len(parts) == 1:
        return parts[0]
    return ReadTable(
        [np.concatenate(columns) for columns in zip(*(p.columns for p in parts), strict=True)],
        [key for p in parts for key in p.key],
        None if table.id is None else [key for p in parts for key in p.id or ()],
        None if table.order is None else np.concatenate([p.order for p in parts if p.order is not None]),
    )


def _loaded(file: RawTable | DuckTable) -> Any:
    """All columns of a file as they are stored; texts of a CSV as they are written."""
    names = ", ".join(
        f'{file.source(at)} AS "{name.replace(chr(34), chr(34) * 2)}"' for at, name in enumerate(file.names)
    )
    with file.reading() as (connection, scan):
        query = connection.sql(f"SELECT {names} FROM {scan}")
        table = shielded(file.path, lambda: arrow_batches(query, CHUNK).read_all())
    file.check_count(table.num_rows)
    return table


def _read_frame(frame: Any, table: Table, schema: Schema) -> ReadTable:
    key = unit_values(frame, table.key)
    own = None if table.id is None else unit_values(frame, table.id)
    columns = Encoder(schema).encode_columns(frame)
    return ReadTable(columns, key, own, _moments(frame, table))


def _moments(frame: Any, table: Table) -> Any:
    """Places on the axis of the order column; what cannot be read counts as the lowest, as everywhere."""
    if table.order is None:
        return None
    axis, reader = table.schema.axis(table.order), TextReader()
    try:
        cells: Cells = axis.read(column_values(frame, table.order), reader)
    finally:
        reader.close()
    return np.clip(np.where(cells.codes < 0, cells.numbers, axis.low), axis.low, axis.high)
