"""Parts of a schema document, checked one by one; lists that it names are read from the folder it lies in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kagemusha.columns.column import shown
from kagemusha.errors import SchemaError
from kagemusha.schema.constraints import Constraint, read_list

VERSION = 1


def constraints_of(tables: Any, folder: Path | None = None) -> list[Constraint]:
    """The rules of a document; a `SchemaError` for what is none."""
    if not isinstance(tables, list):
        raise SchemaError('constraints: a list is needed, such as [[constraint]] with rule = "admission <= discharge"')
    return [Constraint.from_fields(table, folder) for table in tables]


def target_of(document: Mapping[str, Any]) -> str | None:
    """The column to predict, if the document names one."""
    target = document.get("target")
    if target is not None and not isinstance(target, str):
        raise SchemaError(f'target: the name of a column is needed, such as target = "income", got {shown(target)}')
    return target


def with_list(name: str, table: Any, folder: Path | None) -> Any:
    """The fields of a column with `categories_file` read: the first value of each line of a CSV file.

    A `families_file` holds lines of a code and its groups, and leaves open which of them are categories.
    """
    if isinstance(table, Mapping) and "families_file" in table:
        lines = read_list(table["families_file"], folder, f"column {name!r}")
        return {**{k: v for k, v in table.items() if k != "families_file"}, "families": lines}
    if not isinstance(table, Mapping) or "categories_file" not in table:
        return table
    if table.get("kind") != "category" or "categories" in table:
        raise SchemaError(f"column {name!r}: categories_file is for a category that lists no categories itself")
    lines = read_list(table["categories_file"], folder, f"column {name!r}")
    rest = {field: value for field, value in table.items() if field != "categories_file"}
    if rest.pop("hierarchy", None) == "file":  # code, then its groups, fine ones first, as lists of codes are written
        return {**rest, "categories": [line[0] for line in lines], "ancestors": [line[:0:-1] for line in lines]}
    return {**rest, "categories": [line[0] for line in lines]}


def check_version(given: object) -> None:
    """A `SchemaError` for a version that is not known."""
    if given != VERSION:
        raise SchemaError(f"version = {shown(given)} is not known; this program reads version {VERSION}")
