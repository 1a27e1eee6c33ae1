"""A table in a database or on a cluster: codes are made and counted where it lives, and only counts come over.

Many marginals are counted in one scan by GROUPING SETS; GROUPING bits tell which columns a row of the answer speaks of.
Rows with a cell that the engine cannot settle (see `encoding.pushdown`) come over as they are and are counted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.bins import code_type
from kagemusha.columns.parse import TextReader
from kagemusha.columns.pushed import Pushed, person, plain_columns, pushed
from kagemusha.columns.values import Plain
from kagemusha.encoding.frames import check_names
from kagemusha.errors import SchemaError
from kagemusha.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Clique, Schema
from kagemusha.sources.bounding import Scanned
from kagemusha.sources.protocol import Source
from kagemusha.sources.scans import Scan, covering, scans_for
from kagemusha.sources.spool import Spool
from kagemusha.sources.sqltable import Row, SqlTable


class SqlSource(Source):
    """A table behind its schema, in an engine."""

    stays_put: ClassVar[bool] = True

    def __init__(self, table: SqlTable, schema: Schema) -> None:
        self._table, self._schema = table, schema
        check_names(table.names, schema, table.name or "the table")
        for column in schema.modelled:
            if column.name in schema.formulas:
                raise SchemaError(
                    f"column {column.name!r} is worked out by a formula, which {table.dialect.name} does not do for "
                    "us: make a view that holds it, and read that"
                )
        places = {name: at for at, name in enumerate(table.names)}
        self._at = [places[column.name] for column in schema.modelled]
        dialect = table.dialect
        found = [
            pushed(c, table.stored[at], f"c{at}", dialect) for c, at in zip(schema.modelled, self._at, strict=True)
        ]
        self._unit_at = None if schema.unit.column is None else places[schema.unit.column]
        whose = (
            Pushed("NULL")
            if self._unit_at is None
            else person(table.stored[self._unit_at], f"c{self._unit_at}", dialect)
        )
        doubts = [p.settled for p in (*found, whose) if p.settled != "TRUE"]
        self._sure = " AND ".join(doubts) or "TRUE"
        codes = [f"{p.code} AS k{i}" for i, p in enumerate(found)]
        who = [] if self._unit_at is None else [f"{whose.code} AS w"]
        self._coded_query = f"SELECT {', '.join([*codes, *who])} FROM {table.scan} WHERE {self._sure}"
        self._prepared: str | None = None
        self._local: Spool | None = None
        self._whole: Spool | None = None
        self._persons: IntArray | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the table: its state, its locks and what the engine kept for us.

        Questions after this are refused.
        """
        self._table.close()

    def __repr__(self) -> str:
        return f"SqlSource({self._table.name or '<private>'!r}, {len(self.domain)} columns)"

    @property
    def name(self) -> str | None:
        """What its engine says the table is, whatever the address it was reached by."""
        return self._table.known_as

    def identity(self) -> Identity | None:
        """A digest of the columns that are used, and what the engine says the table is; private."""
        used = sorted({*self._at, *(() if self._unit_at is None else (self._unit_at,))})
        return self._table.identity(used)

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        return self._schema

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique, in as few scans as the engine allows."""
        tally = Tally(self.domain, cliques)  # refuses what cannot be counted
        for chunk in self._read_here():
            tally.add(chunk)
        found = {m.clique: m.counts for m in tally.marginals()}
        if not self._all_here:
            largest = covering(list(found))
            counted: dict[Clique, IntArray] = {}
            for scan in scans_for(self.domain, list(dict.fromkeys(largest.values())), self._table.dialect):
                counted |= self._counted(scan)
            for clique, whole in largest.items():
                rest = tuple(at for at, name in enumerate(whole) if name not in clique)
                found[clique] = found[clique] + counted[whole].sum(axis=rest)
        return [Marginal(tuple(c), found[tuple(c)].astype(np.int64)) for c in cliques]

    def _counted(self, scan: Scan) -> dict[Clique, IntArray]:
        dialect, domain = self._table.dialect, self.domain
        axes = [domain.axis(name) for name in scan.columns]
        columns = [f"k{axis}" for axis in axes]
        bits = dialect.bits(columns)
        sets = [f"({', '.join(f'k{domain.axis(name)}' for name in clique)})" for clique in scan.cliques]
        fields = ", ".join([*bits, *columns, "count(*)"])
        query = f"SELECT {fields} FROM {self._kept} {dialect.grouping(columns, sets)}"
        if scan.cliques == ((),):
            query = f"SELECT count(*) FROM {self._kept}"
        counts = {clique: np.zeros(domain.shape(clique), dtype=np.int64) for clique in scan.cliques}
        known: dict[tuple[int, ...], tuple[IntArray, list[int]]] = {}
        for row in self._table.rows(query):
            key = tuple(row[: len(bits)])
            if key not in known:
                inside = [i for i, yes in enumerate(dialect.grouped(key, len(columns))) if yes]
                known[key] = counts[tuple(scan.columns[i] for i in inside)], [len(bits) + i for i in inside]
            table, at = known[key]
            table[tuple(row[i] for i in at)] = row[-1]
        return counts

    # rows

    def batches(self) -> Iterator[list[Codes]]:
        """All rows as codes, some at a time; they come over once and are kept."""
        if self._whole is None:
            spool = Spool(self.domain.sizes)
            for chunk in self._streamed():
                spool.add(chunk)
                yield chunk
            if spool.complete:
                self._whole = spool
            return
        yield from self._whole

    def _streamed(self) -> Iterator[list[Codes]]:
        yield from self._read_here()
        if not self._all_here:
            columns = ", ".join(f"k{axis}" for axis in range(len(self.domain)))
            for batch in self._table.batches(f"SELECT {columns} FROM {self._kept}"):
                yield self._as_codes(batch)

    def _as_codes(self, batch: Sequence[Row]) -> list[Codes]:
        values = np.array(batch, dtype=np.int64).reshape(len(batch), -1)
        return [values[:, axis].astype(code_type(size)) for axis, size in enumerate(self.domain.sizes)]

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, and whose they are."""
        parts: list[list[Codes]] = [[np.empty(0, dtype=code_type(size)) for size in self.domain.sizes]]
        whose: list[IntArray] = []
        if self._unit_at is None or self._all_here:
            parts += self.batches()
        else:
            columns = ", ".join(f"k{axis}" for axis in range(len(self.domain)))
            ranked = f"SELECT {columns}, dense_rank() OVER (ORDER BY w) - 1 FROM {self._kept}"
            for batch in self._table.batches(ranked):
                parts.append(self._as_codes([row[:-1] for row in batch]))
                whose.append(np.array([row[-1] for row in batch], dtype=np.int64))
        columns_found = [np.concatenate(found) for found in zip(*parts, strict=True)]
        if self._unit_at is None:
            return columns_found, np.arange(len(columns_found[0]))
        if self._all_here:
            assert self._persons is not None
            return columns_found, self._persons
        return columns_found, np.concatenate([np.empty(0, dtype=np.int64), *whose])

    # what the engine holds, and what is read here

    @property
    def _kept(self) -> str:
        """The FROM clause of the codes of the rows that stay, as far as the engine settles them."""
        if self._prepared is None:
            query = self._coded_query
            if self._unit_at is not None:
                codes = [f"k{axis}" for axis in range(len(self.domain))]
                written = " || ',' || ".join(map(self._table.dialect.text, codes))
                order = self._table.dialect.digest(f"(w || '|' || {written})")
                ranked = f"row_number() OVER (PARTITION BY w ORDER BY {order}) AS r"
                inner = f"SELECT {', '.join(codes)}, w, {ranked} FROM ({query}) AS coded WHERE w IS NOT NULL"
                most = self._schema.unit.max_rows
                query = f"SELECT {', '.join(codes)}, w FROM ({inner}) AS ranked WHERE r <= {most}"
            self._prepared = self._table.prepared(query)
        return self._prepared

    @property
    def _all_here(self) -> bool:
        """Whether all rows are read here: of a person, some rows may not be bounded there and others here."""
        return self._unit_at is not None and self._sure != "TRUE" and self._any_doubt

    @cached_property
    def _any_doubt(self) -> bool:
        query = f"SELECT count(*) FROM {self._table.scan} WHERE NOT ({self._sure})"
        return bool(self._table.rows(query)[0][0])

    def _read_here(self) -> Iterator[list[Codes]]:
        """The codes of rows that the engine does not settle, or of all."""
        if self._sure == "TRUE" or (self._unit_at is not None and not self._any_doubt):
            return
        if self._local is None:
            self._local = self._bounded_here() if self._unit_at is not None else self._brought(f"NOT ({self._sure})")
        yield from self._local

    def _brought(self, which: str) -> Spool:
        spool = Spool(self.domain.sizes)
        for columns, _ in self._as_they_are(which, self._at):
            spool.add(columns)
        return spool.required()

    def _bounded_here(self) -> Spool:
        """All rows, bounded as a file's are."""
        assert self._unit_at is not None
        found = Scanned(self.domain.sizes, self._schema.unit.max_rows)
        for columns, whose in self._as_they_are("TRUE", [*self._at, self._unit_at]):
            found.add(columns, whose[0])
        kept, self._persons = found.finish()
        return kept

    def _as_they_are(self, which: str, at: Sequence[int]) -> Iterator[tuple[list[Codes], list[list[Plain]]]]:
        """Rows brought over as they are, encoded here.

        And the plain values of what stands behind the modelled columns.
        """
        stored = [self._table.stored[i] for i in at]
        fields = ", ".join(
            f"{self._table.dialect.raw(f'c{i}', kind)} AS r{n}"
            for n, (i, kind) in enumerate(zip(at, stored, strict=True))
        )
        modelled = self._schema.modelled
        reader = TextReader()
        try:
            for batch in self._table.batches(f"SELECT {fields} FROM {self._table.scan} WHERE {which}"):
                plain = plain_columns(batch, stored)
                codes = [c.encode_plain(v, reader) for c, v in zip(modelled, plain[: len(modelled)], strict=True)]
                yield codes, plain[len(modelled) :]
        finally:
            reader.close()
