"""Tables that belong together: a person with everything below, declared table by table.

`[tables.patients] key = "patient_id"` is the table of the persons. Every other table names its `parent` and the `key`:
the column that says whose each of its rows is. A table with children of its own names its rows by `id`. `order` is the
column that a parent's rows come in the order of. `max_rows` is the largest number of rows of one parent that doubles
have; nobody's rows are left out for it. `counts_as` is what all rows of one parent count as, at most: noise grows with
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from kagemusha.columns import Column, Modelled
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.schema import toml
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.fact import Fact
from kagemusha.schema.schema import Schema
from kagemusha.schema.toml import VERSION
from kagemusha.schema.unit import Unit

PARTS = 840
"""Whole parts in which a row of a table below is counted: a multiple of 1 to 8, so that their shares are exact."""

MOST_PARTS = 1_000_000
"""Parts that all rows of one person in a table may count as."""

COUNTS_AS, MOST = 5, 100_000

DERIVABLE = ("key", "id", "parent", "order", "max_rows", "orphans", "first_of")
"""Fields of a table that a draft may take from the data."""

NAME = r"[A-Za-z0-9_-]{1,64}"
"""Names of tables are parts of file names."""


@dataclass(frozen=True)
class Table:
    """One of several tables: its own columns, and how its rows belong to those of its parent."""

    name: str
    schema: Schema
    """The columns of the table, its keys among them as surrogates."""
    key: str
    """The root's column that names persons; below, the column that says to which row of the parent a row belongs."""
    parent: str | None = None
    id: str | None = None
    """The column that names this table's own rows, where tables below belong to them."""
    order: str | None = None
    max_rows: int = 1
    counts_as: int = COUNTS_AS
    orphans: str = "refuse"
    """What becomes of rows whose parent is not there: "refuse" or "drop"."""
    first_of: str | None = None
    """Where persons have no table of their own: the one in which their columns stand, too; their first row counts."""
    rules: tuple[Constraint, ...] = ()
    """Rules that speak of tables above, too, as in `date >= patients.birth_date`; others stand in the schema."""

    derived: tuple[str, ...] = ()
    """Fields of the table, not of its columns, that were taken from the data and that nobody has confirmed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", tuple(self.derived))
        if unknown := [field for field in self.derived if field not in DERIVABLE]:
            raise self.error(f"derived: {unknown[0]!r} is not one of {', '.join(DERIVABLE)}")
        if not re.fullmatch(NAME, self.name):
            raise SchemaError(f"tables: {self.name!r} is not allowed; letters, digits, - and _ make a table's name")
        names = self.schema.names
        for field, column in (("key", self.key), ("id", self.id), ("order", self.order)):
            if column is not None and column not in names:
                raise self.error(f"{field} = {column!r}: there is no such column{did_you_mean(column, names)}")
        for field, value, most in (
            ("max_rows", self.max_rows, MOST),
            ("counts_as", self.counts_as, MOST_PARTS // PARTS),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise self.error(f"{field} = {value!r} is not allowed; a whole number from 1 to {most:,} is needed")
        if self.orphans not in ("refuse", "drop"):
            raise self.error(f'orphans = {self.orphans!r} is not allowed; it must be "refuse" or "drop"')
        if self.schema.unit or self.schema.weight is not None:
            raise self.error("a unit or a weight is for a table by itself")
        if self.parent is None and (self.order is not None or self.id is not None):
            raise self.error("the table of the persons has neither order nor id; its key names its rows")
        if self.parent is None and self.rules:
            raise self.error(f"constraint {self.rules[0].rule!r}: rules of several tables stand in the lower one")
        if self.parent is not None and self.first_of is not None:
            raise self.error("first_of is for the table of the persons")
        if self.order is not None:
            axis = self.schema.axis(self.order)
            if not axis.whole or axis.missing or axis.special or axis.open_fields:
                raise self.error(
                    f"order = {self.order!r} must be a whole number or a date with declared bounds, that is never "
                    "missing and has no special values"
                )
        if self.schema.replaced:
            raise self.error("columns modelled in place of another one are for a table by itself so far")

    def error(self, why: str) -> SchemaError:
        """What is wrong with the declaration of this table."""
        return SchemaError(f"tables.{self.name}: {why}")

    @property
    def names_rows(self) -> str | None:
        """The column by which tables below name this table's rows."""
        return self.key if self.parent is None else self.id

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of identifiers."""
        return tuple(dict.fromkeys(k for k in (self.key, self.id) if k is not None))

    @property
    def modelled(self) -> tuple[Modelled, ...]:
        """The columns of the table itself that are in the model."""
        return self.schema.modelled

    def to_fields(self) -> dict[str, Any]:
        """What is declared beside the columns."""
        given = {"parent": self.parent, "key": self.key, "id": self.id, "order": self.order, "first_of": self.first_of}
        fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.parent is not None:
            fields |= {"max_rows": self.max_rows, "counts_as": self.counts_as, "orphans": self.orphans}
        return fields | ({"derived": list(self.derived)} if self.derived else {})


@dataclass(frozen=True)
class Related:
    """Several tables, parents before children; the first one holds a row per person."""

    tables: tuple[Table, ...]

    def __init__(self, tables: Iterable[Table]) -> None:
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
        return Related(
            replace(table, first_of=None, schema=replace(table.schema, columns=_kept(table))) for table in self.tables
        )

    # what verify and certificates ask of any schema

    @property
    def unit(self) -> Unit:
        """A person is one record of all tables together."""
        return Unit(self.root.key)

    @property
    def weight(self) -> None:
        """Related tables have no survey weights."""
        return None

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
        """What is counted of a table: its rows with what they are modelled given, or beside the row before."""
        from kagemusha.schema.views import NEXT, view_of

        if name in (table.name for table in self.tables):
            return view_of(self, self[name]).schema
        return view_of(self, self[name.removesuffix(NEXT)]).next_schema

    # the file

    def to_json(self) -> dict[str, Any]:
        """A form for JSON."""
        return {
            "version": VERSION,
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
        return f"{toml.HEADER}\nversion = {VERSION}\n" + "".join(parts)

    @property
    def released(self) -> Related:
        """The same without rules that are guesses: these may rest on rows, and no release may."""
        rules = {t.name: [rule for rule in t.schema.constraints if not rule.guess] for t in self.tables}
        across = {t.name: tuple(rule for rule in t.rules if not rule.guess) for t in self.tables}
        return Related(
            replace(t, schema=t.schema.with_constraints(*rules[t.name]), rules=across[t.name]) for t in self.tables
        )


def _kept(table: Table) -> tuple[Column, ...]:
    return tuple(c for c in table.schema.columns if c.in_doubles or c.name in table.keys)


def _across(table: Table) -> dict[str, Any]:
    return {"across": [rule.to_fields() for rule in table.rules]} if table.rules else {}
