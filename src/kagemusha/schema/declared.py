"""What a schema file declares: one table, or several that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from kagemusha.columns import Surrogate
from kagemusha.columns.registry import column_from_fields, did_you_mean
from kagemusha.errors import SchemaError
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.schema import toml
from kagemusha.schema.related import Related, Table
from kagemusha.schema.schema import Schema
from kagemusha.schema.toml import VERSION, check_version, constraints_of, target_of, with_list
from kagemusha.schema.unit import Weight

Declared = Schema | Related

PERSONS, ROWS = "persons", "rows"
"""What the tables are called that one long table is split into."""

OF_ROWS = ("order", "max_rows", "counts_as")
"""Fields of `[unit]` that say of the rows of a person what `[tables.…]` does."""

OF_TABLE = ("id", "parent", "order", "max_rows", "counts_as", "orphans", "first_of", "derived")
HEAD = ("version", "target", "weight", "tables")
FIELDS = ("key", *OF_TABLE, "columns", "constraint")


def read_declared(text: str, *, folder: Path | None = None) -> Declared:
    """The schema in the text of a file."""
    document = toml.read(text)
    if "persons" in given(document):
        document = split(document)
    return related_of(document, folder) if "tables" in document else Schema.loads(text, folder=folder)


def given(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `[unit]` of a document, if it is a table of fields."""
    unit = document.get("unit")
    return unit if isinstance(unit, Mapping) else {}


def split(document: Mapping[str, Any]) -> dict[str, Any]:
    """One long table, whose `[unit]` lists the columns of the person, as two that belong together: persons and rows."""
    unit, columns = dict(given(document)), document.get("columns", {})
    persons = unit.pop("persons")
    if not isinstance(persons, list) or not all(isinstance(name, str) for name in persons):
        raise SchemaError('unit: persons must be a list of columns, such as ["sex", "birth_date"]')
    if not isinstance(columns, Mapping) or not isinstance(unit.get("column"), str):
        raise SchemaError('unit: persons need column = "patient_id", which says whose a row is, and [columns.…]')
    key = unit.pop("column")
    for name in persons:
        if name not in columns or name == key:
            raise SchemaError(f"unit: persons: no column {name!r}{did_you_mean(name, tuple(columns))}")
    if unit.get("order") in persons:
        raise SchemaError(f"unit: order = {unit['order']!r} is a column of the person; it must be one of the rows")
    for field in unit:
        if field not in OF_ROWS:
            known = ("column", "persons", *OF_ROWS)
            raise SchemaError(f"unit: there is no field {field!r}{did_you_mean(field, known)}")
    rules = document.get("constraint", [])
    of_persons = [rule for rule in constraints_of(rules) if rule.columns <= set(persons)] if rules else []
    written = {rule.rule for rule in of_persons}
    tables = {
        PERSONS: {
            "key": key,
            "first_of": ROWS,
            "columns": {name: columns[name] for name in columns if name in (key, *persons)},
            "constraint": [rule for rule in rules if rule["rule"] in written],
        },
        ROWS: {
            "parent": PERSONS,
            "key": key,
            **unit,
            "columns": {name: fields for name, fields in columns.items() if name not in persons},
            "constraint": [rule for rule in rules if rule["rule"] not in written],
        },
    }
    rest = {field: value for field, value in document.items() if field not in ("unit", "columns", "constraint")}
    return {**rest, "tables": tables}


def load_declared(path: str | PathLike[str]) -> Declared:
    """The schema in a file; every error names the file."""
    try:
        text = read_regular(Path(path), follow=True).decode("utf-8-sig")
    except (OSError, StrangeFileError, ValueError):
        return Schema.load(path)  # which says what is wrong with it
    try:
        return read_declared(text, folder=Path(path).absolute().parent)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None


def related_of(document: Mapping[str, Any], folder: Path | None = None) -> Related:
    """The tables that a document describes."""
    for field in document:
        if field not in HEAD:
            raise SchemaError(f"a schema of several tables has no entry {field!r} beside {', '.join(HEAD)}")
    check_version(document.get("version", VERSION))
    tables = document["tables"]
    if not isinstance(tables, Mapping) or not tables:
        raise SchemaError('tables: such as [tables.patients] with key = "patient_id" are needed')
    found = [_table(name, fields, folder) for name, fields in tables.items()]
    weight = Weight.from_fields(document.get("weight"))
    if weight is not None:
        found = [table if table.parent is not None else _weighted(table, weight) for table in found]
    return Related(found, target_of(document))


def _weighted(persons: Table, weight: Weight) -> Table:
    """The table of the persons, each of whom stands for some of the population."""
    try:
        return replace(persons, schema=persons.schema.with_weight(weight))
    except SchemaError as error:
        raise SchemaError(f"tables.{persons.name}: {error}") from None


def _table(name: str, fields: Any, folder: Any) -> Table:
    if not isinstance(fields, Mapping):
        raise SchemaError(f"tables.{name}: a table of fields is needed")
    for field in fields:
        if field not in FIELDS:
            raise SchemaError(f"tables.{name}: there is no field {field!r}{did_you_mean(field, FIELDS)}")
    if not isinstance(fields.get("key"), str):
        raise SchemaError(f'tables.{name}: key is missing: the column that says whose a row is, such as "patient_id"')
    if fields.get("parent") is not None and "max_rows" not in fields:
        raise SchemaError(
            f"tables.{name}: max_rows is missing: the largest number of rows of one parent in the doubles"
        )
    columns = fields.get("columns", {})
    if not isinstance(columns, Mapping):
        raise SchemaError(f"tables.{name}: columns are needed, such as [tables.{name}.columns.age]")
    try:
        declared = {c: column_from_fields(c, with_list(c, given, folder)) for c, given in columns.items()}
        keys = [k for k in (fields["key"], fields.get("id")) if isinstance(k, str)]
        first = [declared.get(k) or Surrogate(k, prefix=k[:1].upper()) for k in dict.fromkeys(keys)]
        rest = [c for c in declared.values() if c.name not in keys]
        rules = constraints_of(fields.get("constraint", []), folder)
        names = {column.name for column in (*first, *rest)}
        schema = Schema([*first, *rest], constraints=[rule for rule in rules if rule.columns <= names])
        if any(column.name in keys for column in schema.modelled):
            raise SchemaError(f"the keys {', '.join(keys)} are identifiers: surrogate, drop, or not declared at all")
    except SchemaError as error:
        raise SchemaError(f"tables.{name}: {error}") from None
    rest_of = {f: fields[f] for f in OF_TABLE if f in fields}
    across = tuple(rule for rule in rules if not rule.columns <= names)
    return Table(name, schema, fields["key"], rules=across, **rest_of)
