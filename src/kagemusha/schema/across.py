"""Rules of a table below the persons: of its own columns, and of those of tables above, as in patients.birth_date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kagemusha.columns import Modelled
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.schema.constraints import Constraint, Inequality, Logical
from kagemusha.schema.laws import in_force
from kagemusha.schema.related import Related, Table
from kagemusha.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class Ruled:
    """The rules of a table below, with the columns that they speak of under the names that they have there."""

    schema: Schema
    own: Mapping[str, str]
    """Name in the rules → column of the table itself."""
    above: Mapping[str, tuple[str, str]]
    """Name in the rules → table above, and its column."""

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """All in force."""
        return self.schema.constraints


def ruled(related: Related, table: Table) -> Ruled | None:
    """What the rows of a table obey; None for the persons, whose rules their own schema holds, and without rules."""
    rules = [rule for rule in (*table.schema.constraints, *table.rules) if not rule.guess]
    rules = [rule for rule in rules if rule.law.columns and not _works_out(table, rule)]
    if table.parent is None or not rules:
        return None
    own: dict[str, str] = {}
    above: dict[str, tuple[str, str]] = {}
    for rule in rules:
        if not isinstance(rule.law, Logical | Inequality):
            raise table.error(
                f"constraint {rule.rule!r}: below the persons rules are conditions, lists and orders; a column is "
                "worked out of others of its own table"
            )
        for name in sorted(rule.columns):
            owner, column = _found(related, table, name, rule)
            if owner == table.name:
                own[name] = column
            else:
                above[name] = (owner, column)
    columns = [_as(table.schema, column, name) for name, column in own.items()]
    columns += [_as(related[owner].schema, column, name) for name, (owner, column) in above.items()]
    found = Ruled(Schema(columns, constraints=rules), own, above)
    if found.schema.open_facts():
        return found  # what is found may have the values that rules speak of
    try:
        in_force(found.schema)
    except SchemaError as error:
        raise table.error(str(error)) from None
    return found


def _works_out(table: Table, rule: Constraint) -> bool:
    """Whether a rule says how a column follows from others: such columns are worked out, and obey by that."""
    return rule in table.schema.constraints and any(
        name == rule.law.columns[0] and not isinstance(rule.law, Logical | Inequality) for name in table.schema.formulas
    )


def _found(related: Related, table: Table, name: str, rule: Constraint) -> tuple[str, str]:
    if name in table.schema.names:
        return table.name, name
    alone = [other.name for other in related.above(table) if name in other.schema.names]
    if len(alone) == 1:
        return alone[0], name
    for other in (table, *related.above(table)):
        column = name.removeprefix(f"{other.name}.")
        if column != name and column in other.schema.names:
            return other.name, column
    known = [*table.schema.names, *(f"{o.name}.{c}" for o in related.above(table) for c in o.schema.names)]
    raise table.error(
        f"constraint {rule.rule!r}: no column {name!r} here, nor in a table above{did_you_mean(name, tuple(known))}"
    )


def _as(schema: Schema, column: str, name: str) -> Modelled:
    return replace(schema.modelled_column(column), name=name, derived=(), confirmed=None)
