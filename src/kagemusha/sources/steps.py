"""Related tables as what is counted of them: persons as they are, rows below as weighted steps.

A row of a table below counts floor(L · Π min(1, k/n)) parts of a row, the product over the tables from it up to the
persons: n is how many rows its parent has there, k the table's `counts_as`, L = 840. All rows of one person in a table
so count at most L · Π k parts, however many they are (docs/proofs/related.md). Who a row's parent is, n, its place and
the row before it are decided within a person: rows are put in order within their parent by the order column and, where
that is the same, by their contents. Nobody else is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.bins import code_type, to_codes
from kagemusha.errors import UsageError
from kagemusha.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.schema import Clique, Schema
from kagemusha.schema.related import MOST_PARTS, PARTS, Related, Table
from kagemusha.schema.views import NEXT, View, view_of
from kagemusha.sources.codes import CodesSource
from kagemusha.sources.linked import Linked, ReadTable, coded, link, starts_of
from kagemusha.sources.part import PartSource
from kagemusha.sources.protocol import Source


class StepsSource(Source):
    """The rows of a table below, each with what it is modelled given, counted in parts of a row."""

    def __init__(self, schema: Schema, columns: Sequence[Codes], weights: IntArray, *, name: str | None = None) -> None:
        self._schema, self._name = schema, name
        self._columns = [
            np.ascontiguousarray(c, dtype=code_type(s)) for c, s in zip(columns, schema.domain.sizes, strict=True)
        ]
        self._weights = weights

    @property
    def name(self) -> str | None:
        """What the tables are known by."""
        return self._name

    @property
    def schema(self) -> Schema:
        """The view's columns."""
        return self._schema

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact sums of parts over each clique."""
        found: dict[Clique, IntArray] = {}
        parts = self._weights.astype(np.float64)
        for clique in dict.fromkeys(map(tuple, cliques)):
            # whole numbers below 2⁵³ together: doubles add them exactly, in any order
            sums = np.bincount(self.domain.flat(clique, self._columns), parts, self.domain.cells(clique))
            found[clique] = np.rint(sums).astype(np.int64).reshape(self.domain.shape(clique))
        return [Marginal(tuple(clique), found[tuple(clique)]) for clique in cliques]

    def batches(self) -> Iterator[list[Codes]]:
        """Refused: parts of rows are counted, and rows are not handed out."""
        raise UsageError(
            "rows below a person are counted in parts: take a method that asks for counts alone, such as kage"
        )

    def records(self) -> tuple[list[Codes], IntArray]:
        """Refused, as `batches`."""
        raise UsageError(
            "rows below a person are counted in parts: take a method that asks for counts alone, such as kage"
        )

    @property
    def steps(self) -> tuple[Sequence[Codes], IntArray]:
        """Codes and parts of every row, for looks that stay inside."""
        return self._columns, self._weights


class RelatedSource:
    """All tables of one schema, linked by their keys. Private."""

    def __init__(
        self,
        related: Related,
        tables: Mapping[str, ReadTable],
        *,
        name: str | None = None,
        known: Identity | None = None,
    ) -> None:
        self.schema, self._tables, self.name, self._known = related, tables, name, known
        self.native: Any = "pyarrow"
        self.engine = ""
        """Which engine the rows have left to be linked here; nothing for frames and files."""

    def identity(self) -> Identity | None:
        """Digests of all tables; private."""
        return self._known

    def require_readable(self) -> None:
        """Link all tables: keys that do not fit are noticed before anything is paid for."""
        for table in self.schema:
            self.source(table.name)

    @cached_property
    def linked(self) -> Mapping[str, Linked]:
        """Every table with whose its rows are; raises `DataError` for keys that do not fit."""
        found: dict[str, Linked] = {}
        for table in self.schema:
            parent = found[table.parent] if table.parent is not None else None
            found[table.name] = link(
                table, self._tables[table.name], parent, needs_names=bool(self.schema.children(table))
            )
        return found

    @cached_property
    def numbers(self) -> Mapping[str, IntArray]:
        """For each table below, how many rows each row of its parent has."""
        return {
            t.name: np.bincount(self.linked[t.name].parent, minlength=self.linked[t.parent].rows)
            for t in self.schema
            if t.parent is not None
        }

    def source(self, name: str) -> Source:
        """What is counted of a table: see `Related.view`."""
        return self._shown[name] if name in self._shown else self._sources[name.removesuffix(NEXT)]

    @cached_property
    def _shown(self) -> Mapping[str, Source]:
        own = {name: self.schema.view(name).domain for name in self._sources}
        whole = self._sources
        return {n: whole[n] if whole[n].domain == d else PartSource(whole[n], d.names) for n, d in own.items()}

    @cached_property
    def _sources(self) -> Mapping[str, Source]:
        return {table.name: self._source(table) for table in self.schema}

    def records(self, name: str) -> Sequence[Codes]:
        """Codes of every row of a table, below as in `Related.view(name-next)`; for looks that stay inside."""
        return self._sources[name].records()[0] if name == self.schema.root.name else self._below(name).steps[0]

    def _below(self, name: str) -> StepsSource:
        found = self._sources[name]
        assert isinstance(found, StepsSource)
        return found

    def persons(self, name: str) -> IntArray:
        """The person of every row of a table below, in the order of `records`."""
        table = self.schema[name]
        linked = self.linked[name]
        rows = linked.parent[linked.in_order(self._own(table, view_of(self.schema, table)))]
        for step in self.schema.above(table):
            if step.parent is not None:
                rows = self.linked[step.name].parent[rows]
        return rows

    def _own(self, table: Table, view: View) -> list[Codes]:
        """Codes of a table's own columns and of the numbers of rows below."""
        children = self.schema.children(table)
        counted = [coded(column, self.numbers[c.name]) for column, c in zip(view.numbers, children, strict=True)]
        return [*self.linked[table.name].columns, *counted]

    def _source(self, table: Table) -> Source:
        view = view_of(self.schema, table)
        own = self._own(table, view)
        if table.parent is None:
            return CodesSource(view.schema, own, name=self.name)
        linked = self.linked[table.name]
        order = linked.in_order(own)
        parent = linked.parent[order]
        first = starts_of(parent)
        starts = np.flatnonzero(first)
        place = np.arange(len(parent)) - np.repeat(starts, np.diff(np.append(starts, len(parent)))) + 1
        columns: list[Codes] = []
        for at, (_, column) in enumerate(view.previous):
            before = np.empty(len(order), dtype=np.int64)
            before[1:] = linked.columns[at][order][:-1]
            before[first] = column.size - 1
            columns.append(before)
        for source, column_there, _ in view.context:
            columns.append(self._above(table, source, column_there)[order])
        if view.position is not None:
            columns.append(coded(view.position, place))
        if view.gap is not None:
            assert linked.order is not None
            gaps = np.append(0, np.diff(linked.order[order]))
            columns.append(to_codes(view.gap, np.where(first, 0, gaps), first))
        columns += [column[order] for column in own]
        return StepsSource(view.next_schema, columns, self.parts(table)[order], name=self.name)

    def _above(self, table: Table, source: str, column: str) -> Codes:
        """A column of a table above, for each row of this one."""
        rows = self.linked[table.name].parent
        for step in self.schema.above(table):
            if step.name == source:
                seen = view_of(self.schema, step)
                names = [c.name for c in (*seen.own, *seen.numbers)]
                return self._own(step, seen)[names.index(column)][rows]
            rows = self.linked[step.name].parent[rows]
        raise KeyError(source)

    def parts(self, table: Table) -> IntArray:
        """The weight of every row: one division, rounded down, at the end of the whole path; of a person, 1."""
        linked = self.linked[table.name]
        if table.parent is None:
            return np.ones(linked.rows, dtype=np.int64)
        above = PARTS * np.ones(linked.rows, dtype=np.int64)
        below = np.ones(linked.rows, dtype=np.int64)
        rows, step = linked.parent, table
        while step.parent is not None:
            n = self.numbers[step.name][rows]
            # whose path holds more rows than parts counts nothing; the product must not leave 64 bits before that
            above, below = above * np.minimum(n, step.counts_as), np.minimum(below * n, MOST_PARTS + 1)
            step = self.schema[step.parent]
            rows = self.linked[step.name].parent[rows]
        return above // below
