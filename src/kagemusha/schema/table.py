"""One of several tables that belong together: its own columns, and how its rows belong to those of its parent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kagemusha.columns import Modelled
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.schema import Schema

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
        if self.schema.unit:
            raise self.error("a unit is for a table by itself")
        if self.schema.weight is not None and self.parent is not None:
            raise self.error("weights are those of persons: their rows below weigh as much as they do")
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
