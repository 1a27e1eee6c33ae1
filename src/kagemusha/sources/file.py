"""CSV and Parquet files, and tables of a DuckDB database: encoded by DuckDB on the way through, counted chunk by chunk, never loaded whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.bins import code_type
from kagemusha.encoding.cells import Cells, formula_codes, formula_inputs
from kagemusha.encoding.frames import check_names
from kagemusha.encoding.parse import TextReader
from kagemusha.encoding.sql import MOMENTS, Query, Stored, codes_query, plain_sql
from kagemusha.encoding.values import Instant, Plain, plain
from kagemusha.ledger.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Category, Clique, Domain, Modelled, Schema
from kagemusha.sources.bounding import Bound, Persons
from kagemusha.sources.engine import shielded
from kagemusha.sources.lake import RawTable, full_name, open_files
from kagemusha.sources.same_rows import identity_of
from kagemusha.sources.spool import KEEP, Spool

CHUNK, LEAST, CELLS = 250_000, 2_048, 4_000_000
"""Rows read at a time: so many, fewer where there are many columns, but not fewer than DuckDB's own steps."""


class FileSource:
    """Table files that are one table together. Codes are kept after the first pass, so that later ones are fast."""

    def __init__(
        self, table: str | PathLike[str] | RawTable, schema: Schema, *, keep: int = KEEP, disk: bool = True
    ) -> None:
        self._schema = schema
        self._given = table
        self._files: list[RawTable] = open_files(table) if isinstance(table, str | PathLike) else [table]
        self._shown = str(table) if isinstance(table, str | PathLike) else str(table.path)
        check_names(self._files[0].names, schema, self._shown)
        self._keep, self._disk = keep, disk
        self._kept: Spool | None = None
        self._stay: NDArray[np.bool_] | None = None
        self._who: IntArray | None = None
        self._inputs = formula_inputs(schema)
        self._queries = [self._query_of(file) for file in self._files]

    def _query_of(self, file: RawTable) -> Query:
        places = {name: at for at, name in enumerate(file.names)}
        # what the codes are made of: a column that a formula works out is not read, those that it uses are
        wanted: dict[str, Modelled] = {
            c.name: c for c in (*self._schema.modelled, *self._inputs) if c.name not in self._schema.formulas
        }
        fields = ((column, places[name]) for name, column in wanted.items())
        return codes_query((c, file.stored[at], file.source(at)) for c, at in fields)

    def __repr__(self) -> str:
        return f"FileSource({self._shown!r})"

    @property
    def name(self) -> str:
        """The full path of the file, or of the pattern; of a table in a database, with its name."""
        return full_name(self._given)

    def identity(self) -> Identity:
        """Digests of the files and of their rows; private."""
        return identity_of(self._files)

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        return self._schema

    @property
    def domain(self) -> Domain:
        """The modelled columns and their numbers of codes."""
        return self._schema.domain

    @property
    def file_kind(self) -> str:
        """Csv or parquet: the kind of file to write back."""
        return self._files[0].kind

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique, in one pass over the file."""
        tally = Tally(self.domain, cliques)
        for columns in self._chunks():
            tally.add(columns)
        return tally.marginals()

    def rows(self) -> int:
        """Number of rows."""
        return int(self.count([()])[0].counts)

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, and whose they are."""
        columns: list[list[Codes]] = [[np.empty(0, dtype=code_type(size))] for size in self.domain.sizes]
        for chunk in self._chunks():
            for parts, column in zip(columns, chunk, strict=True):
                parts.append(column)
        whole = [np.concatenate(parts) for parts in columns]
        if self._who is None:
            return whole, np.arange(len(whole[0]))
        return whole, np.unique(self._who, return_inverse=True)[1].astype(np.int64)

    def native_like(self) -> Any:
        """Files have no frame of their own; arrow tables hold what they hold."""
        return "pyarrow"

    def batches(self) -> Iterator[list[Codes]]:
        """All rows as codes, chunk by chunk."""
        return self._chunks()

    def _chunks(self) -> Iterator[list[Codes]]:
        if self._kept is not None:
            yield from self._kept
            return
        keep = None if self._schema.unit.column is None else self._staying()
        spool = Spool(self.domain.sizes, keep=self._keep, disk=self._disk)
        rows = 0
        for columns in self._read():
            rows += len(columns[0])
            if keep is not None:
                stay = keep[rows - len(columns[0]) : rows]
                columns = [column[stay] for column in columns]
            spool.add(columns)
            yield columns
        if spool.complete:
            self._kept = spool

    def _staying(self) -> NDArray[np.bool_]:
        """Which rows stay under the bound of the unit: one pass for who they belong to, one for their codes."""
        if self._stay is None:
            unit = self._schema.unit
            assert unit.column is not None
            known = Persons()
            persons = known.number(chain.from_iterable(self.values_of(unit.column)))
            bound = Bound(persons, known.names, unit.max_rows)
            for columns in self._read():
                bound.add(columns)
            bound.finish()
            self._stay, self._who = bound.keep, persons[bound.keep]
        return self._stay

    def values_of(self, name: str) -> Iterator[list[Plain]]:
        """The plain values of one column, chunk by chunk."""
        for file in self._files:
            at = file.names.index(name)
            value = plain_sql(Category(name), file.stored[at], file.source(at))
            with file.reading() as (connection, scan):
                for batch in _batches(file, connection, f"SELECT {value} FROM {scan}", 1):
                    yield [as_plain(found, file.stored[at]) for found in batch.column(0).to_pylist()]

    def cells_of(self, columns: Sequence[Modelled]) -> Iterator[dict[str, Cells]]:
        """The values of some columns as rules see them, chunk by chunk; every row, however many of a person there are."""
        reader = TextReader()
        try:
            for file in self._files:
                places = {name: at for at, name in enumerate(file.names)}
                fields = ((c, places[c.name]) for c in columns)
                query = codes_query((c, file.stored[at], file.source(at)) for c, at in fields)
                names, rows = [c.name for c in columns], 0
                with file.reading() as (connection, scan):
                    for statement in query.setup:
                        connection.execute(statement)
                    for batch in _batches(file, connection, query.over(scan), len(columns)):
                        rows += batch.num_rows
                        measured = query.cells(batch, reader, names)
                        codes = query.codes_by_name(batch, reader, [name for name in names if name not in measured])
                        yield measured | {n: Cells(c.astype(np.int64), np.zeros(len(c))) for n, c in codes.items()}
                file.check_count(rows)
        finally:
            reader.close()

    def _read(self) -> Iterator[list[Codes]]:
        reader = TextReader()
        try:
            for file, query in zip(self._files, self._queries, strict=True):
                rows = 0
                with file.reading() as (connection, scan):
                    for statement in query.setup:
                        connection.execute(statement)
                    for batch in _batches(file, connection, query.over(scan), len(self.domain)):
                        columns = self._codes(query, batch, reader)
                        rows += len(columns[0])
                        yield columns
                file.check_count(rows)
        finally:
            reader.close()

    def _codes(self, query: Query, batch: Any, reader: TextReader) -> list[Codes]:
        found = query.codes_by_name(batch, reader, self.domain)
        cells = query.cells(batch, reader, (c.name for c in self._inputs))
        return [
            formula_codes(self._schema, c.name, cells) if c.name in self._schema.formulas else found[c.name]
            for c in self._schema.modelled
        ]


def _batches(file: RawTable, connection: Any, query: str, columns: int) -> Iterator[Any]:
    stream = shielded(file.path, lambda: _stream(connection, query, columns))
    while (batch := shielded(file.path, lambda: _next(stream))) is not None:
        yield batch


def as_plain(value: Any, stored: Stored) -> Plain:
    """A value that `plain_sql` gave as a plain value."""
    return Instant(value) if stored in MOMENTS and value is not None else plain(value)


def _stream(connection: Any, query: str, columns: int) -> Any:
    relation = connection.sql(query)
    # DuckDB 2 renamed the call.
    open_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return open_reader(max(LEAST, min(CHUNK, CELLS // columns)))


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
