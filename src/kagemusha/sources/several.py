"""Several tables from wherever they are: a dict of frames and files, a folder, a database of any kind."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import DataError, UsageError
from kagemusha.files import TABLE_FILES, scheme_of
from kagemusha.identity import Identity
from kagemusha.schema.declared import ROWS
from kagemusha.schema.related import Related, Table
from kagemusha.sources.bounding import Persons
from kagemusha.sources.lake import full_name
from kagemusha.sources.linked import ReadTable, mixed, starts_of
from kagemusha.sources.open import located
from kagemusha.sources.places import Place, place_of
from kagemusha.sources.sqltable import SqlTable
from kagemusha.sources.steps import RelatedSource


@dataclass(frozen=True, eq=False)
class RelatedTables:
    """Where all tables of a schema are; its columns may still leave facts open. Private."""

    schema: Related
    places: Mapping[str, Place]
    name: str | None
    """What a ledger knows them by."""

    def identity(self) -> Identity | None:
        """Digests of all tables; private."""
        return _identity(self.places)

    def behind(self, related: Related) -> RelatedSource:
        """The same tables, in the same state, read behind a schema that leaves nothing open."""
        return self.source(related, self.read(related))

    def source(self, related: Related, read: Mapping[str, ReadTable]) -> RelatedSource:
        """What was read of these tables, to be linked and counted."""
        source = RelatedSource(related, read, name=self.name, known=self.identity())
        source.native = next(iter(self.places.values())).native
        source.engine = self.engine
        return source

    def read(self, related: Related, *names: str) -> dict[str, ReadTable]:
        """What is in all places, or in those of these tables alone."""
        found: dict[str, ReadTable] = {}
        for table in related:
            if table.first_of is not None or (names and table.name not in names):
                continue
            # in one scan: another one may have another order, and somebody else's row would then say which is the first
            here = [table, related.root] if related.root.first_of == table.name else [table]
            found |= zip((one.name for one in here), self.places[table.name].read(*here), strict=True)
            if len(here) > 1:
                found[related.root.name] = _first(found[related.root.name], found[table.name].order)
        return found

    @property
    def engine(self) -> str:
        """Which engine the rows leave; nothing for frames and files."""
        return next((name for opened in self.places.values() if (name := opened.engine)), "")


def related_tables(
    where: Any, related: Related, *, place: str | None = None, timeout: float | None = None
) -> RelatedTables:
    """Find all tables of a schema; as in `open_related`, but nothing is read."""
    own = [table for table in related if table.first_of is None]
    found = _places(where, own, place, timeout)
    return RelatedTables(related, found, _name(where, found, own[0]))


def open_related(
    where: Any, related: Related, *, place: str | None = None, timeout: float | None = None
) -> RelatedSource:
    """Read all tables of a schema.

    `where` is a mapping from names of tables to whatever holds one, a folder that holds a file of each table's name, or
    a database: `postgresql://…`, `duckdb:///file.db` or `spark://`, in which `place` is the schema that holds the
    tables, if it is not the usual one. Raises `DataError` where tables or keys do not fit; nothing is spent by then.
    """
    if isinstance(where, RelatedSource):
        return where
    return related_tables(where, related, place=place, timeout=timeout).behind(related)


def _first(read: ReadTable, order: FloatArray | None) -> ReadTable:
    """One row per identifier: the first in the order, and of those the first by their contents, mixed."""
    known = Persons()
    keys = read.key.numbers(known)
    moments = np.zeros(read.rows) if order is None else order
    rows = np.lexsort((mixed(read.columns, read.rows), moments, keys))
    rows = rows[starts_of(keys[rows]) & (keys[rows] >= 0)]
    return ReadTable([column[rows] for column in read.columns], read.key[rows], None, None)


def _places(where: Any, tables: Sequence[Table], place: str | None, timeout: float | None) -> dict[str, Place]:
    """Where each table is."""
    if isinstance(where, Mapping):
        lacking = [table.name for table in tables if table.name not in where]
        if lacking:
            raise UsageError(f"there is no table {lacking[0]!r} among {', '.join(map(str, where))}")
        return {table.name: place_of(located(where[table.name], timeout=timeout), table.name) for table in tables}
    (root, *_) = tables
    one = len(tables) == 1 and root.name == ROWS  # a long table by itself, see `schema.declared.split`
    if one or (
        len(tables) == 1 and isinstance(where, str | PathLike) and scheme_of(where) is None and Path(where).is_file()
    ):
        return {root.name: place_of(located(where, table=place, timeout=timeout), root.name)}
    if not isinstance(where, str | PathLike):
        raise UsageError(
            f"related tables come as a dict of frames, a folder or an address such as duckdb:///…, got "
            f"{type(where).__name__}"
        )
    scheme = scheme_of(where)
    if scheme is None:
        if place is not None or timeout is not None:
            what = "table=… (--table)" if place is not None else "a statement timeout"
            raise UsageError(f"{what} is for databases: a folder holds a file of each table's name")
        return {table.name: _files(Path(where), table) for table in tables}
    address = str(where)
    if place is None and "#" in address.rpartition("@")[2]:
        address, _, place = address.rpartition("#")  # as ledgers name it
    names = {table.name: f"{place}.{table.name}" if place else table.name for table in tables}
    found: dict[str, Any] = {}
    for table in tables:
        first = next(iter(found.values()), None)
        if isinstance(first, SqlTable):  # in the snapshot of the first one, where an engine has such
            found[table.name] = first.beside(names[table.name])
        else:
            found[table.name] = located(address, table=names[table.name], timeout=timeout)
    return {table.name: place_of(found[table.name], table.name) for table in tables}


def _files(folder: Path, table: Table) -> Place:
    files = [folder / f"{table.name}{suffix}" for suffix in TABLE_FILES]
    there = [file for file in files if file.is_file()]
    if len(there) != 1:
        what = "no file" if not there else "more than one file"
        raise DataError(f"{folder}: {what} for the table {table.name!r}; {table.name}.csv or .parquet is looked for")
    return place_of(there[0], table.name)


def _name(where: Any, found: Mapping[str, Place], root: Table) -> str | None:
    """What a ledger knows the tables by."""
    if not isinstance(where, str | PathLike):
        return None
    return full_name(where) if scheme_of(where) is None else found[root.name].known_as(str(where))


def _identity(found: Mapping[str, Place]) -> Identity | None:
    """That of all tables together; frames have none."""
    known = [one for opened in found.values() if (one := opened.identity()) is not None]
    if len(known) < len(found):
        return None
    state = hashlib.sha256(" ".join(one.state for one in known).encode()).hexdigest()
    return Identity(state, tuple(dict.fromkeys(same for one in known for same in one.same)))
