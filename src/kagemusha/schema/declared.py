"""What a schema file declares: one table, or several that belong together."""

from __future__ import annotations

from collections.abc import Mapping
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
from kagemusha.schema.toml import VERSION, check_version, constraints_of, with_list

Declared = Schema | Related

FIELDS = ("key", "id", "parent", "order", "max_rows", "counts_as", "orphans", "first_of", "columns", "constraint")


def read_declared(text: str, *, folder: Path | None = None) -> Declared:
    """The schema in the text of a file."""
    document = toml.read(text)
    return related_of(document, folder) if "tables" in document else Schema.loads(text, folder=folder)


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
        if field not in ("version", "tables"):
            raise SchemaError(f"a schema of several tables has no entry {field!r} beside version and tables")
    check_version(document.get("version", VERSION))
    tables = document["tables"]
    if not isinstance(tables, Mapping) or not tables:
        raise SchemaError('tables: such as [tables.patients] with key = "patient_id" are needed')
    return Related(_table(name, fields, folder) for name, fields in tables.items())


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
        schema = Schema([*first, *rest], constraints=constraints_of(fields.get("constraint", []), folder))
        if any(column.name in keys for column in schema.modelled):
            raise SchemaError(f"the keys {', '.join(keys)} are identifiers: surrogate, drop, or not declared at all")
    except SchemaError as error:
        raise SchemaError(f"tables.{name}: {error}") from None
    rest_of = {
        f: fields[f] for f in ("parent", "id", "order", "max_rows", "counts_as", "orphans", "first_of") if f in fields
    }
    return Table(name, schema, fields["key"], **rest_of)
