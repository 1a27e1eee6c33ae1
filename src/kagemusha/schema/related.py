"""Tables that belong together: a person with everything below, declared table by table.

`[tables.patients] key = "patient_id"` is the table of the persons. Every other table names its `parent` and the `key`:
the column that says whose each of its rows is. A table with children of its own names its rows by `id`. `order` is the
column that a parent's rows come in the order of. `max_rows` is the largest number of rows of one parent that doubles
have; nobody's rows are left out for it. `counts_as` is what all rows of one parent count as, at most: noise grows with
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from kagemusha.columns import Column
from kagemusha.columns.column import shown
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.schema import toml
from kagemusha.schema.fact import Fact
from kagemusha.schema.schema import Schema
from kagemusha.schema.table import COUNTS_AS as COUNTS_AS
from kagemusha.schema.table import MOST as MOST
from kagemusha.schema.table import MOST_PARTS as MOST_PARTS
from kagemusha.schema.table import PARTS as PARTS
from kagemusha.schema.table import Table as Table
from kagemusha.schema.toml import VERSION
from kagemusha.schema.unit import Unit, Weight


@dataclass(frozen=True)
class Related:
    """Several tables, parents before children; the first one holds a row per person."""

    tables: tuple[Table, ...]
    target: str | None = None
    """A column that people will want to predict, as table.column."""

    def __init__(self, tables: Iterable[Table], target: str | None = None) -> None:
        from kagemusha.schema.across import ruled

        given = {table.name: table for table in tables}
        roots = [table for table in given.values() if table.parent is None]
        if len(roots) != 1:
            named = ", ".join(table.name for table in roots) or "none"
            raise SchemaError(f"tables: exactly one table has no parent, the one of the persons; here: {named}")
        ordered = list(roots)
        for table in ordered:  # grows as children are found
            ordered += [other for other in given.values() if other.parent == table.name]
        for table in given.values():
            if table not in ordered:
                hint = did_you_mean(table.parent, tuple(given)) if table.parent not in given else ""
                why = "no table of that name" if table.parent not in given else "a circle of parents"
                raise table.error(f"parent = {table.parent!r}: {why}{hint}")
            parent = given.get(table.parent or "")
            if parent is not None and parent.names_rows is None:
                raise parent.error(
                    f'tables below belong to its rows: say which column names them, id = "…" ({table.name})'
                )
        object.__setattr__(self, "tables", tuple(ordered))
        first = None if self.root.first_of is None else self[self.root.first_of]
        if first is not None and (first.parent, first.key) != (self.root.name, self.root.key):
            raise self.root.error("first_of must be a table of the same key whose parent is this one")
        for table in self.tables:
            if f"{table.name}-next" in given:
                raise table.error(f"{table.name}-next is what its rows beside the row before are called; rename one")
            ruled(self, table)
            if self.parts(table) > MOST_PARTS:
                raise table.error(
                    f"counts_as, multiplied down from the persons, must be at most {MOST_PARTS // PARTS:,}"
                )
        object.__setattr__(self, "target", None if target is None else self._named(target))

    def _named(self, target: str) -> str:
        """A modelled column as table.column; its name alone will do where one table has such."""
        every = [f"{table.name}.{column.name}" for table in self.tables for column in table.modelled]
        found = [name for name in every if target in (name, name.partition(".")[2])]
        if len(found) == 1:
            return found[0]
        several = (
            f"several tables have one: {' or '.join(found)}" if found else "no table has such a column in its model"
        )
        raise SchemaError(
            f"target: {shown(target)}: {several}{did_you_mean(target, tuple(every)) if not found else ''}"
        )

    def with_target(self, target: str | None) -> Related:
        """The same tables with another column to predict, or with none."""
        return Related(self.tables, target)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    def __getitem__(self, name: str) -> Table:
        for table in self.tables:
            if table.name == name:
                return table
        raise SchemaError(f"there is no table {name!r}{did_you_mean(name, tuple(t.name for t in self.tables))}")

    @property
    def root(self) -> Table:
        """The table of the persons."""
        return self.tables[0]

    def children(self, table: Table) -> tuple[Table, ...]:
        """The tables whose rows belong to those of a table."""
        return tuple(other for other in self.tables if other.parent == table.name)

    def parts(self, table: Table) -> int:
        """Parts that all rows of one person in a table count as, at most; 1 for the persons themselves."""
        path = list(self.above(table))
        return 1 if not path else PARTS * prod(step.counts_as for step in (table, *path[:-1]))

    def above(self, table: Table) -> Iterator[Table]:
        """The parent, its parent, and so on up to the persons."""
        while table.parent is not None:
            table = self[table.parent]
            yield table

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """For each table what a person counts as there, at most; and the same for its rows beside the row before."""
        from kagemusha.schema.views import NEXT

        below = {f"{t.name}{NEXT}": self.parts(t) for t in self.tables if t.parent is not None}
        return {table.name: self.parts(table) for table in self.tables} | below

    @property
    def apart(self) -> Related:
        """The same as doubles come: persons in a table of their own, and nothing that is left out of doubles."""
        kept = (replace(t, first_of=None, schema=replace(t.schema, columns=_kept(t))) for t in self.tables)
        return Related(kept, self.target)

    # what verify and certificates ask of any schema

    @property
    def unit(self) -> Unit:
        """A person is one record of all tables together."""
        return Unit(self.root.key)

    @property
    def weight(self) -> Weight | None:
        """How many people of the population a person stands for: a column of theirs. Rows below weigh as much."""
        return self.root.schema.weight

    def open_facts(self) -> tuple[Fact, ...]:
        """Facts that nobody has declared."""
        return tuple(fact for table in self.tables for fact in table.schema.open_facts())

    def derived_facts(self) -> tuple[Fact, ...]:
        """Facts taken from the data that nobody has confirmed."""
        own = (Fact(f"tables.{table.name}", field) for table in self.tables for field in table.derived)
        return (*own, *(fact for table in self.tables for fact in table.schema.derived_facts()))

    def vouchers(self) -> tuple[str, ...]:
        """Who confirmed what."""
        across = [rule for table in self.tables for rule in table.rules if rule.confirmed and not rule.guess]
        said = [f"Public facts of the rule {rule.rule}: confirmed by {rule.confirmed}." for rule in across]
        return (*(line for table in self.tables for line in table.schema.vouchers()), *said)

    def view(self, name: str) -> Schema:
        """What is counted of a table: its rows with what they are modelled given, or beside the row before.

        Without a name that of the persons.
        """
        from kagemusha.schema.views import NEXT, view_of

        name = name or self.root.name
        if name in (table.name for table in self.tables):
            return view_of(self, self[name]).schema
        return view_of(self, self[name.removesuffix(NEXT)]).next_schema

    # the file

    def to_json(self) -> dict[str, Any]:
        """A form for JSON."""
        return {
            "version": VERSION,
            **toml.heads(target=self.target),
            "tables": [
                {"name": t.name, **t.to_fields(), "schema": t.schema.to_json(), **_across(t)} for t in self.tables
            ],
        }

    def digest(self) -> str:
        """SHA-256 of what is declared."""
        return toml.digest_of(self.to_json())

    def dumps(self) -> str:
        """The text of a schema file."""
        from kagemusha.columns.registry import column_to_fields

        parts = []
        for table in self.tables:
            columns = [(c.name, column_to_fields(c)) for c in table.schema.columns]
            rules = [rule.to_fields() for rule in (*table.schema.constraints, *table.rules)]
            parts.append(toml.write_table(table.name, table.to_fields(), columns, rules))
        heads = toml.head_lines(toml.heads(target=self.target))
        heads += toml.weight_lines({} if self.weight is None else self.weight.to_fields())
        return "\n".join([toml.HEADER, f"version = {VERSION}", *heads, "".join(parts)])

    @property
    def released(self) -> Related:
        """The same without rules that are guesses: these may rest on rows, and no release may."""
        rules = {t.name: [rule for rule in t.schema.constraints if not rule.guess] for t in self.tables}
        across = {t.name: tuple(rule for rule in t.rules if not rule.guess) for t in self.tables}
        tables = (
            replace(t, schema=t.schema.with_constraints(*rules[t.name]), rules=across[t.name]) for t in self.tables
        )
        return Related(tables, self.target)


def _kept(table: Table) -> tuple[Column, ...]:
    return tuple(c for c in table.schema.columns if c.in_doubles or c.name in table.keys)


def _across(table: Table) -> dict[str, Any]:
    return {"across": [rule.to_fields() for rule in table.rules]} if table.rules else {}
