"""What PostgreSQL's catalogue says about a table: types, lists of values, checks, keys. No row is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kagemusha.facts.statement import Statement, day, number, whole
from kagemusha.sources.postgres import PostgresTable

_KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "numeric": "real", "float4": "real", "float8": "real",
    "money": "real", "bool": "boolean", "date": "date", "timestamp": "datetime", "timestamptz": "datetime",
    "time": "time", "interval": "duration", "text": "category", "varchar": "category", "bpchar": "category",
    "citext": "category",
}  # fmt: skip

_COLUMNS = """
SELECT a.attname, t.typname, a.attnotnull, t.oid::bigint, t.typtype::text,
  coalesce((SELECT bool_or(i.indisunique AND i.indnkeyatts = 1) FROM pg_catalog.pg_index i
            WHERE i.indrelid = a.attrelid AND i.indkey[0] = a.attnum), false),
  EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE c.conrelid = a.attrelid AND c.contype = 'f'
          AND c.conkey = ARRAY[a.attnum])
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = {table}::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_CHECKS = """
SELECT a.attname, pg_catalog.pg_get_constraintdef(c.oid)
FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
WHERE c.conrelid = {table}::regclass AND c.contype = 'c' AND cardinality(c.conkey) = 1
"""
_LABELS = "SELECT enumlabel FROM pg_catalog.pg_enum WHERE enumtypid = {type} ORDER BY enumsortorder"

SIGNS = ((">=", "lower", ""), ("<=", "upper", ""), (">", "lower", "above"), ("<", "upper", "below"))
_VALUE = r"\(*'?(?P<value>-?[0-9][0-9.:T -]*|[^']*)'?\)?(?:::[a-z ]+(?:\([0-9,]+\))?)?"
_TEXT = re.compile(r"'((?:[^']|'')*)'::")


def catalogue(url: str, table: str | None) -> tuple[list[Statement], str]:
    """What is said about each column of a table, and by whom."""
    opened = PostgresTable(url, table)
    try:
        return list(_statements(opened)), f"the catalogue of {opened.name}"
    finally:
        opened.close()


def _statements(table: PostgresTable) -> Iterator[Statement]:
    place = table.dialect.literal(".".join(map(table.dialect.identifier, table.place)))
    checks: dict[str, list[str]] = {}
    for name, definition in table.rows(_CHECKS.format(table=place)):
        checks.setdefault(str(name), []).append(str(definition))
    for name, kind, required, number_of_type, sort, unique, refers in table.rows(_COLUMNS.format(table=place)):
        if unique or refers:
            why = "a key of another table" if refers else "an identifier"
            yield Statement(name=str(name), kind="drop", why=why)
            continue
        said = _said(checks.get(str(name), []))
        if sort == "e":
            said = {"values": [row[0] for row in table.rows(_LABELS.format(type=int(number_of_type)))]}
        yield _statement(str(name), "text" if sort == "e" else str(kind), said, bool(required))


def _statement(name: str, kind: str, said: dict[str, Any], required: bool) -> Statement:
    shown = _KINDS.get(kind, "drop")
    bound = {"integer": whole, "real": number, "date": day, "datetime": day}.get(shown, lambda _: None)
    lower, upper = bound(said.get("lower")), bound(said.get("upper"))
    return Statement(
        name=name,
        kind=shown,
        values=said.get("values", ()),
        lower=lower if lower is None or "above" not in said else lower + 1,
        upper=upper if upper is None or "below" not in said else upper - 1,
        missing=not required,
        why="" if kind in _KINDS else f"of type {kind}",
    )


def _said(definitions: list[str]) -> dict[str, Any]:
    """Bounds and lists of values that CHECK constraints say; what they say otherwise is left to a person."""
    found: dict[str, Any] = {}
    for definition in definitions:
        if " OR " in definition:
            continue
        if "ANY" in definition and (values := _TEXT.findall(definition)):
            found["values"] = [value.replace("''", "'") for value in values]
        for sign, end, open_end in SIGNS:
            match = re.search(rf"(?<![<>]){sign}(?!=) {_VALUE}", definition)
            if match is not None and end not in found:
                found[end] = match["value"].strip()
                if open_end:
                    found[open_end] = True
    return found
