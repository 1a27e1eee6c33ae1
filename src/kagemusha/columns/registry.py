"""Columns as plain tables of fields: the one form behind the schema file and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any

from kagemusha.columns.boolean import Boolean
from kagemusha.columns.category import Category
from kagemusha.columns.clock import Duration, TimeOfDay
from kagemusha.columns.column import Column, shown
from kagemusha.columns.date import Date
from kagemusha.columns.datetime import Datetime
from kagemusha.columns.drop import Drop
from kagemusha.columns.integer import Integer
from kagemusha.columns.real import Real
from kagemusha.columns.surrogate import Surrogate
from kagemusha.errors import SchemaError

KINDS: Mapping[str, type[Column]] = {
    kind.kind: kind for kind in (Category, Boolean, Integer, Real, Date, Datetime, TimeOfDay, Duration, Drop, Surrogate)
}
"""Every kind a schema file can name."""


_SILENT: Mapping[str, Any] = {"special": (), "in_table": False, "levels": (), "ancestors": (), "families": ()}
"""Fields that say nothing while they have these values."""


def column_from_fields(name: str, table: Mapping[str, Any]) -> Column:
    """The column a table of fields describes; a wrong table raises `SchemaError` naming column and field."""
    if not isinstance(table, Mapping):
        raise SchemaError(f'column {name!r}: a table of fields is needed, such as kind = "category"')
    given = dict(table)
    kind = given.pop("kind", None)
    if kind is None:
        raise SchemaError(f"column {name!r}: kind is missing; it must be one of {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SchemaError(f"column {name!r}: kind = {shown(kind)} is not known{did_you_mean(kind, KINDS)}")
    known = (*KINDS[kind].fields, "derived", "confirmed")
    for field in given:
        if field not in known:
            raise SchemaError(f"column {name!r}: a {kind} has no field {field!r}{did_you_mean(field, known)}")
    values: dict[str, Any] = {field: tuple(v) if isinstance(v, list) else v for field, v in given.items()}
    for field in ("ancestors", "families"):
        if isinstance(values.get(field), tuple):
            values[field] = tuple(tuple(line) if isinstance(line, list) else line for line in values[field])
    return KINDS[kind](name, **values)


def column_to_fields(column: Column) -> dict[str, Any]:
    """The fields that describe the column, defaults that say nothing left out."""
    listed: dict[str, Any] = {"kind": column.kind}
    for field in column.fields:
        value = column.given(field)
        if field == "other" and column.given("out_of_domain") != "other":
            continue
        if value is not None and not (field in _SILENT and value == _SILENT[field]):
            listed[field] = (
                [list(v) if isinstance(v, tuple) else v for v in value] if isinstance(value, tuple) else value
            )
    if column.derived:
        listed["derived"] = list(column.derived)
    if column.confirmed is not None:
        listed["confirmed"] = column.confirmed
    return listed


def jsonable(value: Any) -> Any:
    """Dates as ISO text, everything else as it is."""
    if isinstance(value, list):
        return [jsonable(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def did_you_mean(given: object, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """The end of an error message: the nearest known name, or all of them."""
    near = get_close_matches(given, list(known), n=1) if isinstance(given, str) else []
    return f"; did you mean {near[0]!r}?" if near else f"; it must be one of {', '.join(known)}"
