"""A CSV or Parquet file: encoded by DuckDB on the way through, counted chunk by chunk, never loaded whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.bins import code_type
from kagemusha.encoding.cells import formula_codes, formula_inputs
from kagemusha.encoding.frames import check_names
from kagemusha.encoding.parse import TextReader
from kagemusha.encoding.sql import MOMENTS, Stored, codes_query, plain_sql
from kagemusha.encoding.values import Instant, Plain, plain
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Category, Clique, Domain, Modelled, Schema
from kagemusha.sources.bounding import Bound, Persons
from kagemusha.sources.engine import shielded
from kagemusha.sources.rawfile import open_file

CHUNK, LEAST, CELLS = 250_000, 2_048, 25_000_000
"""Rows read at a time: so many, fewer where there are many columns, but not fewer than DuckDB's own steps."""

KEEP = 512 * 2**20


class FileSource:
    """A table file. Codes of up to `keep` bytes are kept after the first pass, so that later ones are fast."""

    def __init__(self, path: str | PathLike[str], schema: Schema, *, keep: int = KEEP) -> None:
        self._schema = schema
        self._file = open_file(path)
        check_names(self._file.names, schema, str(path))
        self._keep = keep
        self._kept: list[list[Codes]] | None = None
        self._stay: NDArray[np.bool_] | None = None
        self._who: IntArray | None = None
        places = {name: at for at, name in enumerate(self._file.names)}
        self._inputs = formula_inputs(schema)
        # what the codes are made of: a column that a formula works out is not read, those that it uses are
        read: dict[str, Modelled] = {
            c.name: c for c in (*schema.modelled, *self._inputs) if c.name not in schema.formulas
        }
        fields = ((column, places[name]) for name, column in read.items())
        self._query = codes_query((c, self._file.stored[at], self._file.source(at)) for c, at in fields)

    def __repr__(self) -> str:
        return f"FileSource({str(self._file.path)!r})"

    @property
    def name(self) -> str:
        """The full path of the file."""
        return str(self._file.path.resolve())

    def fingerprint(self) -> str:
        """A digest of the file; private."""
        return self._file.fingerprint()

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
        return self._file.kind

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

    def _chunks(self) -> Iterator[list[Codes]]:
        if self._kept is not None:
            yield from self._kept
            return
        keep = None if self._schema.unit.column is None else self._staying()
        kept: list[list[Codes]] = []
        room, rows = self._keep, 0
        for columns in self._read():
            rows += len(columns[0])
            if keep is not None:
                stay = keep[rows - len(columns[0]) : rows]
                columns = [column[stay] for column in columns]
            room -= sum(column.nbytes for column in columns)
            if room >= 0:
                kept.append(columns)
            else:
                kept.clear()
            yield columns
        self._file.check_count(rows)
        if room >= 0:
            self._kept = kept

    def _staying(self) -> NDArray[np.bool_]:
        """Which rows stay under the bound of the unit: one pass for who they belong to, one for their codes."""
        if self._stay is None:
            unit = self._schema.unit
            assert unit.column is not None
            known = Persons()
            persons = known.number(chain.from_iterable(self._values(unit.column)))
            bound = Bound(persons, known.names, unit.max_rows)
            for columns in self._read():
                bound.add(columns)
            bound.finish()
            self._stay, self._who = bound.keep, persons[bound.keep]
        return self._stay

    def _values(self, name: str) -> Iterator[list[Plain]]:
        """The plain values of one column, chunk by chunk."""
        at = self._file.names.index(name)
        stored = self._file.stored[at]
        value = plain_sql(Category(name), stored, self._file.source(at))
        with self._file.reading() as (connection, scan):
            stream = shielded(self._file.path, lambda: _stream(connection, f"SELECT {value} FROM {scan}", 1))
            while (batch := shielded(self._file.path, lambda: _next(stream))) is not None:
                yield [as_plain(found, stored) for found in batch.column(0).to_pylist()]

    def _read(self) -> Iterator[list[Codes]]:
        with self._file.reading() as (connection, scan):
            for statement in self._query.setup:
                connection.execute(statement)
            stream = shielded(self._file.path, lambda: _stream(connection, self._query.over(scan), len(self.domain)))
            reader = TextReader()
            try:
                while (batch := shielded(self._file.path, lambda: _next(stream))) is not None:
                    yield self._codes(batch, reader)
            finally:
                reader.close()

    def _codes(self, batch: Any, reader: TextReader) -> list[Codes]:
        found = self._query.codes_by_name(batch, reader, self.domain)
        cells = self._query.cells(batch, reader, (c.name for c in self._inputs))
        return [
            formula_codes(self._schema, c.name, cells) if c.name in self._schema.formulas else found[c.name]
            for c in self._schema.modelled
        ]


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
