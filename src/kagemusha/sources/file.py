"""CSV and Parquet files, and tables of a DuckDB database.

Encoded by DuckDB on the way through, counted chunk by chunk, never loaded whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.cells import Cells
from kagemusha.columns.dialect import DUCK
from kagemusha.columns.parse import TextReader, quote
from kagemusha.columns.pushed import plain_of
from kagemusha.columns.stored import Stored
from kagemusha.columns.values import Plain
from kagemusha.encoding.frames import check_names, formula_codes, formula_inputs
from kagemusha.identity import Identity
from kagemusha.schema import Modelled, Schema
from kagemusha.sources.bounding import Scanned
from kagemusha.sources.header import arrow_batches, shielded
from kagemusha.sources.lake import RawTable, full_name, identity_of, open_files
from kagemusha.sources.protocol import Source, joined
from kagemusha.sources.spool import KEEP, Spool

CHUNK, LEAST, CELLS = 250_000, 2_048, 4_000_000
"""Rows read at a time: so many, fewer where there are many columns, but not fewer than DuckDB's own steps."""


@dataclass(frozen=True)
class CodesQuery:
    """Statements to run first, a query over the raw table, and what makes codes of its batches.

    DuckDB reads what nearly all cells hold: labels, looked up by hashing as values of an ENUM type that is made before
    the query runs; numbers; dates in the column's own format. Any other text comes out as it is and is read as that of
    a frame is, and numbers become codes as those of a frame do. The query has three levels, so that nothing is worked
    out twice: p, the plain form of a value; v, what it says or where that lies; and t, the text itself if it was read
    as nothing.
    """

    columns: tuple[Modelled, ...]
    setup: tuple[str, ...]
    levels: tuple[str, ...]

    def over(self, scan: str) -> str:
        """The query over a FROM clause."""
        query = scan
        for level in self.levels:
            query = f"(SELECT {level} FROM {query})"
        return query[1:-1]

    def codes(self, batch: Any, reader: TextReader) -> list[Codes]:
        """Codes of every column from an arrow batch of what the query gives."""
        return list(self.codes_by_name(batch, reader, (c.name for c in self.columns)).values())

    def codes_by_name(self, batch: Any, reader: TextReader, names: Iterable[str]) -> dict[str, Codes]:
        """Codes of some columns."""
        return {c.name: c.codes_in_duck(v, t, reader) for c, v, t in self._parts(batch, names)}

    def cells(self, batch: Any, reader: TextReader, names: Iterable[str]) -> dict[str, Cells]:
        """The values of some columns, as formulas and rules see them."""
        return {c.name: c.cells_in_duck(v, t, reader) for c, v, t in self._parts(batch, names)}

    def _parts(self, batch: Any, names: Iterable[str]) -> Iterable[tuple[Modelled, Any, Any]]:
        """Columns with what was read, and the texts that are still to be read (None: there are none)."""
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        wanted = set(names)
        for at, column in enumerate(self.columns):
            if column.name in wanted:
                texts = found.get(f"t{at}")
                yield column, found[f"v{at}"], None if texts is None or texts.null_count == len(texts) else texts


WHOSE = "w"
"""The column of a query's answer that says whose a row is."""


def codes_query(fields: Iterable[tuple[Modelled, Stored, str]], whose: tuple[Stored, str] | None = None) -> CodesQuery:
    """What gives the codes of columns; each is given with how it is stored and the SQL expression of its values.

    With `whose` the plain values of one more column come along, in the same scan: who each row belongs to.
    """
    columns: list[Modelled] = []
    types: dict[str, list[str]] = {}
    levels: tuple[list[str], list[str], list[str]] = ([], [], [])
    for at, (column, stored, source) in enumerate(fields):
        columns.append(column)
        p, v, t = f"p{at}", f"v{at}", f"t{at}"
        plain = column.plain_sql(stored, source, DUCK)
        if stored in column.native:
            value, rest = column.native_in_duck(stored, p, DUCK), ""
        else:
            plain = DUCK.text(plain)
            value, settled = column.text_in_duck(p, DUCK, types)
            rest = "" if settled else f", CASE WHEN {v} IS NULL AND {p} <> '' THEN {p} END AS {t}"
        last = column.place_of(v, DUCK)
        steps = (f"{plain} AS {p}", f"{p}, {value} AS {v}", (v if last == v else f"{last} AS {v}") + rest)
        for level, step in zip(levels, steps, strict=True):
            level.append(step)
    if whose is not None:
        levels[0].append(f"{DUCK.raw(whose[1], whose[0])} AS {WHOSE}")
        levels[1].append(WHOSE)
        levels[2].append(WHOSE)
    setup = tuple(f"CREATE TYPE {name} AS ENUM ({', '.join(map(quote, words))})" for name, words in types.items())
    return CodesQuery(tuple(columns), setup, tuple(", ".join(level) for level in levels))


class FileSource(Source):
    """Table files that are one table together. Codes are kept after the first pass, so that later ones are fast."""

    def __init__(
        self, table: str | PathLike[str] | RawTable, schema: Schema, *, keep: int = KEEP, disk: bool = True
    ) -> None:
        self._schema = schema
        self._given = table
        self._files: list[RawTable] = (
            open_files(table, schema.encoding) if isinstance(table, str | PathLike) else [table]
        )
        self._shown = str(table) if isinstance(table, str | PathLike) else str(table.path)
        check_names(self._files[0].names, schema, self._shown)
        self._keep, self._disk = keep, disk
        self._kept: Spool | None = None
        self._persons: IntArray | None = None
        self._inputs = formula_inputs(schema)
        self._queries = [self._query_of(file) for file in self._files]

    def _query_of(self, file: RawTable) -> CodesQuery:
        """The codes of the modelled columns and, where persons have several rows, whose each row is."""
        # what the codes are made of: a column that a formula works out is not read, those that it uses are
        wanted: dict[str, Modelled] = {
            c.name: c for c in (*self._schema.modelled, *self._inputs) if c.name not in self._schema.formulas
        }
        return self._query(file, wanted.values())

    def _query(self, file: RawTable, columns: Iterable[Modelled]) -> CodesQuery:
        places = {name: at for at, name in enumerate(file.names)}
        fields = [(c, file.stored[at], file.source(at)) for c in columns for at in [places[c.name]]]
        unit = self._schema.unit.column
        return codes_query(fields, None if unit is None else (file.stored[places[unit]], file.source(places[unit])))

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
    def file_kind(self) -> str:
        """Csv or parquet: the kind of file to write back."""
        return self._files[0].kind

    def batches(self) -> Iterator[list[Codes]]:
        """All rows that stay, chunk by chunk; kept after the first pass."""
        if self._kept is None and self._schema.unit.column is not None:
            self._bound()
        if self._kept is not None:
            yield from self._kept
            return
        spool = Spool(self.domain.sizes, keep=self._keep, disk=self._disk)
        for columns, _ in self._read():
            spool.add(columns)
            yield columns
        if spool.complete:
            self._kept = spool

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, and whose they are."""
        whole = joined(self.domain, self.batches())
        return whole, np.arange(len(whole[0])) if self._persons is None else self._persons

    def cells_of(self, columns: Sequence[Modelled]) -> Iterator[tuple[dict[str, Cells], list[Plain]]]:
        """The values of some columns as rules see them, and whose each row is.

        Every row, however many of a person there are.
        """
        names = [c.name for c in columns]
        for file in self._files:
            query = self._query(file, columns)
            for batch, reader in self._scan(file, query):
                yield query.cells(batch, reader, names), self._whose(file, batch)

    def _bound(self) -> None:
        """One scan for the codes and whose they are; of each person so many rows stay as are declared."""
        found = Scanned(self.domain.sizes, self._schema.unit.max_rows, keep=self._keep, disk=self._disk)
        for columns, whose in self._read():
            found.add(columns, whose)
        self._kept, self._persons = found.finish()

    def _read(self) -> Iterator[tuple[list[Codes], list[Plain]]]:
        for file, query in zip(self._files, self._queries, strict=True):
            for batch, reader in self._scan(file, query):
                yield self._codes(query, batch, reader), self._whose(file, batch)

    def _scan(self, file: RawTable, query: CodesQuery) -> Iterator[tuple[Any, TextReader]]:
        """What a query over a file gives, batch by batch."""
        reader, rows = TextReader(), 0
        try:
            with file.reading() as (connection, scan):
                for statement in query.setup:
                    connection.execute(statement)
                for batch in _batches(file, connection, query.over(scan), len(self.domain)):
                    rows += batch.num_rows
                    yield batch, reader
            file.check_count(rows)
        finally:
            reader.close()

    def _whose(self, file: RawTable, batch: Any) -> list[Plain]:
        unit = self._schema.unit.column
        if unit is None:
            return []
        stored = file.stored[file.names.index(unit)]
        return [plain_of(value, stored) for value in batch.column(WHOSE).to_pylist()]

    def _codes(self, query: CodesQuery, batch: Any, reader: TextReader) -> list[Codes]:
        found = query.codes_by_name(batch, reader, self.domain)
        cells = query.cells(batch, reader, (c.name for c in self._inputs))
        return [
            formula_codes(self._schema, c.name, cells) if c.name in self._schema.formulas else found[c.name]
            for c in self._schema.modelled
        ]


def _batches(file: RawTable, connection: Any, query: str, columns: int) -> Iterator[Any]:
    rows = max(LEAST, min(CHUNK, CELLS // columns))
    stream = shielded(file.path, lambda: arrow_batches(connection.sql(query), rows))
    while (batch := shielded(file.path, lambda: _next(stream))) is not None:
        yield batch


def _next(reader: Any) -> Any:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
