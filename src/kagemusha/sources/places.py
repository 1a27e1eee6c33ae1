"""Where one of several tables is: a frame, files or a table of DuckDB's, an engine; each is read as codes and keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any

from kagemusha.columns.cells import Cells
from kagemusha.columns.parse import TextReader
from kagemusha.columns.pushed import plain_columns
from kagemusha.columns.values import Plain
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import column_values, library_of, open_frame
from kagemusha.identity import Identity
from kagemusha.schema import Schema
from kagemusha.schema.related import Table
from kagemusha.sources.brought import bring, others_in
from kagemusha.sources.file import CHUNK
from kagemusha.sources.frame import unit_values
from kagemusha.sources.header import arrow_batches, shielded
from kagemusha.sources.lake import DuckTable, RawTable, full_name, identity_of, open_files
from kagemusha.sources.linked import Keys, ReadTable, joined_parts, places_of
from kagemusha.sources.sqltable import SqlTable


class Place(ABC):
    """Where a table is."""

    native: Any = "pyarrow"
    """The library that doubles come in."""
    engine: str = ""
    """Which engine its rows have left; nothing for frames and files."""

    @abstractmethod
    def read(self, *tables: Table) -> list[ReadTable]:
        """All rows, in one scan, as each of the tables sees them; together they declare all columns."""

    @abstractmethod
    def values(self, names: Sequence[str]) -> dict[str, list[Plain]]:
        """The plain values of some columns, for drafts."""

    def identity(self) -> Identity | None:
        """By what a ledger knows it again; private."""
        return None

    def known_as(self, address: str) -> str | None:
        """What a ledger calls the tables at an address, of which this is the first."""
        return address


class FramePlace(Place):
    """A frame in memory."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.native = library_of(frame)

    def read(self, *tables: Table) -> list[ReadTable]:
        """All rows."""
        return read_frame(open_frame(self._frame), tables)

    def values(self, names: Sequence[str]) -> dict[str, list[Plain]]:
        """The plain values of some columns."""
        opened = open_frame(self._frame)
        return {name: unit_values(opened, name) for name in names}


class FilePlace(Place):
    """Files that are one table together, or a table of a DuckDB database."""

    def __init__(self, files: Sequence[RawTable | DuckTable]) -> None:
        self._files = list(files)

    def read(self, *tables: Table) -> list[ReadTable]:
        """All rows, file by file."""
        parts = [read_frame(open_frame(_loaded(file)), tables) for file in self._files]
        return [joined_parts(of_one) for of_one in zip(*parts, strict=True)]

    def values(self, names: Sequence[str]) -> dict[str, list[Plain]]:
        """The plain values of some columns, file after file."""
        opened = [open_frame(_loaded(file, names)) for file in self._files]
        return {name: [value for frame in opened for value in unit_values(frame, name)] for name in names}

    def identity(self) -> Identity | None:
        """Digests of the files and of their rows."""
        return identity_of(self._files)

    def known_as(self, address: str) -> str | None:
        """The full path of the database, from wherever it was named, and the schema that holds the tables."""
        return full_name(self._files[0]).rpartition(".")[0]


class EnginePlace(Place):
    """A table inside an engine."""

    def __init__(self, table: SqlTable, name: str) -> None:
        self._table, self._name, self.engine = table, name, table.dialect.name

    def read(self, *tables: Table) -> list[ReadTable]:
        """All rows."""
        return bring(self._table, tables)

    def values(self, names: Sequence[str]) -> dict[str, list[Plain]]:
        """The plain values of some columns, in one scan."""
        at = [self._table.names.index(name) for name in names]
        stored = [self._table.stored[i] for i in at]
        fields = ", ".join(self._table.dialect.raw(f"c{i}", s) for i, s in zip(at, stored, strict=True))
        found: dict[str, list[Plain]] = {name: [] for name in names}
        for batch in self._table.batches(f"SELECT {fields} FROM {self._table.scan}") if names else ():
            for name, values in zip(names, plain_columns(batch, stored), strict=True):
                found[name] += values
        return found

    def identity(self) -> Identity | None:
        """A digest of all columns, and what the engine says the table is."""
        return self._table.identity(range(len(self._table.names)))

    def known_as(self, address: str) -> str | None:
        """What the engine says of itself, whatever the address, and the schema that holds the tables."""
        found = self._table.known_as
        return found and found.removesuffix(self._name).removesuffix(".").removesuffix("#")


def place_of(found: Any, table: str, encoding: str | None = None) -> Place:
    """Where a table is that was located: see `open.located`."""
    if isinstance(found, SqlTable):
        return EnginePlace(found, table)
    if isinstance(found, DuckTable):
        return FilePlace([found])
    if isinstance(found, str | PathLike):
        return FilePlace(open_files(found, encoding))
    return FramePlace(found)


def read_frame(frame: Any, tables: Sequence[Table]) -> list[ReadTable]:
    """Codes, keys and the order of a frame's rows, for each of the tables that are in it."""
    return [_read_frame(frame, table, table.schema.with_columns(*others_in(table, tables))) for table in tables]


def _read_frame(frame: Any, table: Table, schema: Schema) -> ReadTable:
    key = Keys.of(column_values(frame, table.key))
    own = None if table.id is None else Keys.of(column_values(frame, table.id))
    columns = Encoder(schema).encode_columns(frame)
    if table.order is None:
        return ReadTable(columns, key, own, None)
    axis, reader = table.schema.axis(table.order), TextReader()
    try:
        cells: Cells = axis.read(column_values(frame, table.order), reader)
    finally:
        reader.close()
    return ReadTable(columns, key, own, places_of(axis, cells))


def _loaded(file: RawTable | DuckTable, wanted: Sequence[str] | None = None) -> Any:
    """Columns of a file as they are stored; texts of a CSV as they are written."""
    names = ", ".join(
        f'{file.source(at)} AS "{name.replace(chr(34), chr(34) * 2)}"'
        for at, name in enumerate(file.names)
        if wanted is None or name in wanted
    )
    with file.reading() as (connection, scan):
        query = connection.sql(f"SELECT {names} FROM {scan}")
        table = shielded(file.path, lambda: arrow_batches(query, CHUNK).read_all())
    file.check_count(table.num_rows)
    return table
