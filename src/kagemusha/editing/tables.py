"""Answers about tables that belong together: whose rows are whose, in which order, and rules across tables.

A schema of one table is a single part without a name, so that whoever goes through columns goes through both alike.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kagemusha.editing.answers import Voucher, whole
from kagemusha.errors import SchemaError
from kagemusha.schema import Schema, Surrogate
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.declared import Declared, related_of, split
from kagemusha.schema.related import Related, Table

ALONE = ""
"""What the one part of a schema of one table is called."""


def tables_of(declared: Declared) -> tuple[Table, ...]:
    """The tables that belong together, persons first; none where a schema is of one table."""
    return declared.tables if isinstance(declared, Related) else ()


def parts_of(declared: Declared) -> dict[str, Schema]:
    """The columns of each table by its name."""
    return {t.name: t.schema for t in declared.tables} if isinstance(declared, Related) else {ALONE: declared}


def with_part(declared: Declared, name: str, schema: Schema) -> Declared:
    """The same with other columns in one of its tables."""
    return with_table(declared, replace(declared[name], schema=schema)) if isinstance(declared, Related) else schema


def with_table(related: Related, table: Table) -> Related:
    """The same with one table said anew."""
    return replace(related, tables=tuple(table if one.name == table.name else one for one in related))


def guesses(declared: Declared) -> int:
    """Rules that nobody has vouched for."""
    rules = [rule for schema in parts_of(declared).values() for rule in schema.constraints]
    return sum(rule.guess for rule in [*rules, *(rule for table in tables_of(declared) for rule in table.rules)])


def table_confirmed(related: Related, name: str, voucher: Voucher) -> Related:
    """What a draft took from the data about how a table belongs to others, vouched for; its key remembers by whom."""
    table = related[name]
    key = replace(table.schema[table.key], derived=(), confirmed=str(voucher))
    return with_table(related, replace(table, derived=(), schema=table.schema.with_columns(key)))


def table_changed(related: Related, name: str, given: Mapping[str, str], voucher: Voucher) -> Related:
    """A table with what was typed: `key`, `parent`, `order`, `id`, `max_rows`, `counts_as`, `orphans`."""
    table = related[name]
    fields: dict[str, Any] = {field: given[field] or None for field in ("order", "id") if field in given}
    fields |= {field: given[field] for field in ("key", "parent", "orphans") if given.get(field)}
    fields |= {field: whole(given[field]) for field in ("max_rows", "counts_as") if given.get(field)}
    schema = table.schema
    for named in filter(None, (fields.get("key"), fields.get("id"))):
        if named in schema.names and schema[named].in_doubles:
            schema = schema.with_columns(Surrogate(named, prefix=named[:1].upper()))
    return table_confirmed(with_table(related, replace(table, schema=schema, **fields)), name, voucher)


def table_dropped(related: Related, name: str) -> Related:
    """The same without a table that nothing else belongs to."""
    table = related[name]
    if table.parent is None or related.children(table) or related.root.first_of == name:
        raise table.error("other tables belong to it; it cannot be left out")
    if len(related.tables) == 2:
        raise table.error("one table alone is released as one table: choose its file")
    return replace(related, tables=tuple(one for one in related if one is not table))


def rule_added(related: Related, name: str, text: str, voucher: Voucher) -> Related:
    """A rule of a table's rows; it may speak of tables above, too."""
    table, rule = related[name], Constraint(text.strip(), confirmed=str(voucher))
    if rule.columns <= set(table.schema.names):
        own = table.schema.with_constraints(*table.schema.constraints, rule)
        return with_table(related, replace(table, schema=own))
    return with_table(related, replace(table, rules=(*table.rules, rule)))


def rule_removed(related: Related, name: str, text: str) -> Related:
    """The same without a rule of a table's rows."""
    table = related[name]
    own = table.schema.with_constraints(*(rule for rule in table.schema.constraints if rule.rule != text))
    return with_table(related, replace(table, schema=own, rules=tuple(r for r in table.rules if r.rule != text)))


def as_persons(schema: Schema, key: str, persons: list[str], order: str, most: str) -> Related:
    """One long table as persons and their rows, as `[unit] persons` in a file declares it."""
    document = tomllib.loads(schema.dumps())
    lost = [entry for entry in ("target", "weight", "require", "accept", "values") if entry in document]
    if lost:
        raise SchemaError(f"{lost[0]}: persons and their rows cannot have it so far; take it away first")
    unit: dict[str, Any] = {"column": key, "persons": persons, "max_rows": whole(most)}
    if schema[key].in_doubles:
        document["columns"][key] = {"kind": "surrogate", "prefix": key[:1].upper()}
    return related_of(split({**document, "unit": {**unit, **({"order": order} if order else {})}}))
