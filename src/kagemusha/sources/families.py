"""A person with the last rows as one record: what is labelled, and who is attacked, where there are several tables.

A record holds the person's columns, how many rows they have, and the columns of the last rows of each table right
below, the last one first; a mark stands where there is no such row. It follows from the rows of that person alone and
there is one per person, so what is asked of records is asked at sensitivity 1, and all that holds for a table of one
row per person holds here (docs/proofs/related.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns import Modelled
from kagemusha.errors import UsageError
from kagemusha.identity import Identity
from kagemusha.schema import Drop, Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import number, renamed, view_of
from kagemusha.sources.codes import CodesSource
from kagemusha.sources.linked import coded, starts_of
from kagemusha.sources.steps import RelatedSource

LAST = 3
"""Rows of each table on a card. Their number has a code of its own up to there, so it says which rows there are."""


@dataclass(frozen=True)
class Place:
    """Where a column of the record is from: a row of a table, counted from the last one, which is 0."""

    table: str
    back: int
    column: str


@dataclass(frozen=True, eq=False)
class Family:
    """The records of tables that belong together."""

    related: Related
    last: int = LAST

    def without(self, label: str) -> Family:
        """The same where no table tells what people are asked: they give it."""
        return replace(self, related=Related([_without(table, label) for table in self.related]))

    @cached_property
    def below(self) -> tuple[Table, ...]:
        """The tables whose last rows are shown."""
        return self.related.children(self.related.root)

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """Where each column is from that is not the person's."""
        return {
            name: Place(table.name, back, column.name)
            for table in self.below
            for back in range(self._rows(table))
            for name, column in self._columns(table, back)
        }

    @cached_property
    def schema(self) -> Schema:
        """What a record is. Rules say which rows there are, and their order, so that doubles keep to it."""
        view = view_of(self.related, self.related.root)
        columns: list[Modelled] = [*view.own, *view.numbers]
        rules: list[Constraint] = list(self.related.root.schema.constraints)
        for table in self.below:
            for back in range(self._rows(table)):
                columns += [renamed(column, name, missing=True) for name, column in self._columns(table, back)]
                rules += [Constraint(rule) for rule in self._rules(table, back)]
        return Schema([*columns, *view.worked], constraints=rules)

    def source(self, tables: RelatedSource) -> FamilySource:
        """The records of private tables."""
        return FamilySource(self.schema, self.records(tables), tables)

    def records(self, tables: RelatedSource) -> list[Codes]:
        """The codes of every person's record, in the order of the table of the persons."""
        persons = tables.records(self.related.root.name)
        view = view_of(self.related, self.related.root)
        found = dict(zip(view.schema.domain.names, persons, strict=True))
        people = len(persons[0])
        for table in self.below:
            linked = tables.linked[table.name]
            own = linked.columns
            order = linked.in_order([*own, *self._counted(tables, table)])
            parent = linked.parent[order]
            ends = np.flatnonzero(np.append(starts_of(parent)[1:], True)) if len(parent) else np.zeros(0, np.int64)
            counts = tables.numbers[table.name]
            for back in range(self._rows(table)):
                there = counts[parent[ends]] > back
                rows = order[(ends - back)[there]]
                for (name, column), codes in zip(self._columns(table, back), own, strict=False):
                    size = renamed(column, name, missing=True).size
                    filled = np.full(people, size - 1, dtype=np.int64)
                    filled[parent[ends][there]] = codes[rows]
                    found[name] = filled
        return [found[name] for name in self.schema.domain.names]

    def _counted(self, tables: RelatedSource, table: Table) -> list[Codes]:
        """How many rows each row has below: rows that agree in all else are put in order by it, as everywhere."""
        view = view_of(self.related, table)
        children = self.related.children(table)
        return [coded(c, tables.numbers[below.name]) for c, below in zip(view.numbers, children, strict=True)]

    def _rows(self, table: Table) -> int:
        return min(self.last, table.max_rows)

    def _columns(self, table: Table, back: int) -> Iterator[tuple[str, Modelled]]:
        which = f"{table.name}, last" if not back else f"{table.name}, {back} before the last"
        return ((f"{which}: {column.name}", column) for column in table.modelled)

    def _rules(self, table: Table, back: int) -> Iterator[str]:
        """A column is there if there is such a row; values of the order rise."""
        count = f'"{number(table.name)}"'
        for name, column in self._columns(table, back):
            yield f'{count} <= {back} implies "{name}" is missing'
            if not column.missing:
                yield f'{count} > {back} implies "{name}" is not missing'
            if back and column.name == table.order:
                after = next(n for n, c in self._columns(table, back - 1) if c.name == table.order)
                yield f'"{name}" <= "{after}"'


class FamilySource(CodesSource):
    """Records of persons with their last rows, of tables that a ledger knows."""

    def __init__(self, schema: Schema, columns: Sequence[Codes], tables: RelatedSource) -> None:
        super().__init__(schema, columns, name=tables.name)
        self._tables = tables

    def identity(self) -> Identity | None:
        """That of all tables."""
        return self._tables.identity()


def _without(table: Table, label: str) -> Table:
    """A table without a column of that name."""
    if label not in (column.name for column in table.modelled):
        return table
    if label == table.order:
        raise UsageError(f"--label {label!r}: {table.name} comes in its order; ask for something else")
    kept = [Drop(column.name) if column.name == label else column for column in table.schema.columns]
    rules = [rule for rule in table.schema.constraints if label not in rule.columns]
    own = tuple(rule for rule in table.rules if not any(label == name.rpartition(".")[2] for name in rule.columns))
    return replace(table, schema=Schema(kept, constraints=rules, weight=table.schema.weight), rules=own)
