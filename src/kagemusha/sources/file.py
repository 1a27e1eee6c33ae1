"""A CSV or Parquet file: encoded by DuckDB on the way through, counted chunk by chunk, never loaded whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.bins import code_type
from kagemusha.encoding.frames import check_names
from kagemusha.encoding.sql import sql_expression
from kagemusha.errors import DataError
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Clique, Domain, Schema
from kagemusha.sources.bounding import bounded_sql, person_sql
from kagemusha.sources.rawfile import connect, open_file, shielded

CHUNK = 250_000
KEEP = 512 * 2**20
SQL_TYPES = {"uint8": "UTINYINT", "uint16": "USMALLINT", "int32": "INTEGER"}


class FileSource:
    """A table file. Codes of up to `keep` bytes are kept after the first pass, so that later ones are fast."""

    def __init__(self, path: str | PathLike[str], schema: Schema, *, keep: int = KEEP) -> None:
        self._schema = schema
        self._file = open_file(path)
        check_names(self._file.names, schema, str(path))
        self._keep = keep
        self._kept: list[list[Codes]] | None = None
        self._query = self._select()

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
        if self._schema.unit.column is None:
            chunks = list(self._chunks())
            columns = [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
            return columns, np.arange(len(columns[0]))
        numbered = f"SELECT * EXCLUDE (person), dense_rank() OVER (ORDER BY person) - 1 AS number FROM ({self._query})"
        chunks = list(self._read(numbered))
        *columns, persons = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
        return columns, persons.astype(np.int64)

    def native_like(self) -> Any:
        """Files have no frame of their own; arrow tables hold what they hold."""
        return "pyarrow"

    def _select(self) -> str:
        """The query of all codes; with a unit column, of the rows that stay, and the person of each at the end."""
        positions = {name: i for i, name in enumerate(self._file.names)}
        codes: list[str] = []
        for column, size in zip(self._schema.modelled, self.domain.sizes, strict=True):
            at = positions[column.name]
            expression = sql_expression(column, self._file.stored[at], self._file.source(at))
            codes.append(f"CAST({expression} AS {SQL_TYPES[code_type(size).name]}) AS k{len(codes)}")
        unit = self._schema.unit
        if unit.column is None:
            return f"SELECT {', '.join(codes)} FROM {self._file.scan()}"
        at = positions[unit.column]
        person = person_sql(self._file.source(at), self._file.stored[at])
        select = f"SELECT {', '.join(codes)}, {person} AS person FROM {self._file.scan()}"
        return bounded_sql(select, [f"k{i}" for i in range(len(codes))], unit.max_rows)

    def _chunks(self) -> Iterator[list[Codes]]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[list[Codes]] = []
        room, rows = self._keep, 0
        unbounded = self._schema.unit.column is None
        for columns in self._read(self._query if unbounded else f"SELECT * EXCLUDE (person) FROM ({self._query})"):
            rows += len(columns[0])
            room -= sum(column.nbytes for column in columns)
            if room >= 0:
                kept.append(columns)
            else:
                kept.clear()
            yield columns
        if not rows:
            raise DataError(f"{self._file.path}: the file has a header but no rows")
        if room >= 0:
            self._kept = kept

    def _read(self, query: str) -> Iterator[list[Codes]]:
        self._file.check_unchanged()
        with connect() as connection:
            reader = shielded(self._file.path, lambda: _stream(connection, query))
            while (batch := shielded(self._file.path, lambda: _next(reader))) is not None:
                yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]


def _stream(connection: Any, query: str) -> Any:
    relation = connection.sql(query)
    # DuckDB 2 renamed the call.
    open_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return open_reader(CHUNK)


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
