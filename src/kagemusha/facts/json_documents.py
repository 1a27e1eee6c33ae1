"""JSON documents that describe tables: SDV metadata, frictionless, CSVW, pandera and JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kagemusha.errors import SchemaError
from kagemusha.facts.statement import Statement, day, number, whole

KINDS = {
    "integer": "integer", "int": "integer", "long": "integer", "short": "integer", "year": "integer",
    "nonNegativeInteger": "integer", "number": "real", "decimal": "real", "double": "real", "float": "real",
    "boolean": "boolean", "bool": "boolean", "date": "date", "datetime": "datetime", "dateTime": "datetime",
    "date-time": "datetime", "time": "time", "duration": "duration", "string": "category", "any": "category",
}  # fmt: skip
"""What the types of these documents are here."""


def statement_of(name: str, kind: str, about: Mapping[str, Any], *, required: bool) -> Statement:
    """A statement in the words that nearly all of these documents share."""
    shown = KINDS.get(kind, "drop")
    bound = {"integer": whole, "real": number, "date": day, "datetime": day}.get(shown, lambda _: None)
    values = [value for value in about.get("enum") or () if isinstance(value, str | int) and value != ""]
    return Statement(
        name=name,
        kind=shown,
        values=values,
        lower=bound(about.get("minimum", about.get("minInclusive"))),
        upper=bound(about.get("maximum", about.get("maxInclusive"))),
        missing=not required,
        format=_format(about) if shown in ("date", "datetime") else None,
        why="" if kind in KINDS else f"of type {kind}",
    )


def _format(about: Mapping[str, Any]) -> str | None:
    form = about.get("format")
    return form if isinstance(form, str) and "%" in form else None


def sdv(document: Mapping[str, Any], table: str | None) -> Iterator[Statement]:
    """Metadata of SDV: kinds and keys; it lists no categories and no bounds."""
    about = _chosen(document.get("tables", {"": document}), table)
    keys = {about.get("primary_key"), *(about.get("alternate_keys") or ()), about.get("sequence_key")}
    kinds = {"categorical": "category", "boolean": "boolean", "datetime": "datetime"}
    for name, column in about["columns"].items():
        kind = column.get("sdtype", "")
        if name in keys or kind == "id":
            yield Statement(name=name, kind="drop", why="an identifier")
        elif kind == "numerical":
            is_whole = str(column.get("computer_representation", "")).lower().startswith(("int", "uint"))
            yield Statement(name=name, kind="integer" if is_whole else "real")
        elif kind in kinds:
            form = column.get("datetime_format")
            timed = kind != "datetime" or form is None or any(part in form for part in ("%H", "%I", "%T", "%S"))
            yield Statement(name=name, kind=kinds[kind] if timed else "date", format=form)
        else:
            yield Statement(name=name, kind="drop", why=f"of type {kind}")


def frictionless(document: Mapping[str, Any], table: str | None) -> Iterator[Statement]:
    """A table schema, or one resource of a data package."""
    resources = {str(one.get("name")): one.get("schema", {}) for one in document.get("resources", ())}
    about = _chosen(resources, table) if resources else document
    keys = about.get("primaryKey") or ()
    keys = {keys} if isinstance(keys, str) else set(keys)
    for one in about["fields"]:
        rules = one.get("constraints", {})
        if one["name"] in keys or rules.get("unique"):
            yield Statement(name=one["name"], kind="drop", why="an identifier")
        else:
            about_one = {**rules, "format": one.get("format")}
            yield statement_of(one["name"], one.get("type", "string"), about_one, required=bool(rules.get("required")))


def csvw(document: Mapping[str, Any], table: str | None) -> Iterator[Statement]:
    """CSV on the Web: the table schema of a table."""
    tables = {str(one.get("url")): one for one in document.get("tables", ())}
    about = (_chosen(tables, table) if tables else document)["tableSchema"]
    keys = about.get("primaryKey") or ()
    keys = {keys} if isinstance(keys, str) else set(keys)
    for one in about["columns"]:
        if one.get("virtual"):
            continue
        titles = one.get("titles")
        name = one.get("name") or (titles[0] if isinstance(titles, list) else titles)
        kind = one.get("datatype", "string")
        rules = kind if isinstance(kind, Mapping) else {}
        if name in keys:
            yield Statement(name=name, kind="drop", why="an identifier")
        else:
            base = rules.get("base", "string") if rules else kind
            yield statement_of(str(name), str(base), rules, required=bool(one.get("required")))


def pandera(document: Mapping[str, Any], table: str | None) -> Iterator[Statement]:
    """A schema of pandera, as its `to_json` writes it."""
    for name, column in document["columns"].items():
        checks = column.get("checks") or {}
        checks = {c.get("options", {}).get("check_name", ""): c for c in checks} if isinstance(checks, list) else checks
        between = checks.get("in_range", {})
        about = {
            "enum": _option(checks.get("isin"), "allowed_values"),
            "minimum": between.get("min_value", _option(checks.get("greater_than_or_equal_to"), "min_value")),
            "maximum": between.get("max_value", _option(checks.get("less_than_or_equal_to"), "max_value")),
        }
        dtype = str(column.get("dtype"))
        kind = next((kind for begin, kind in _DTYPES if dtype.lower().startswith(begin)), "string")
        if column.get("unique"):
            yield Statement(name=name, kind="drop", why="an identifier")
        else:
            yield statement_of(name, kind, about, required=not column.get("nullable"))


_DTYPES = (("int", "integer"), ("uint", "integer"), ("float", "number"), ("decimal", "number"), ("bool", "boolean"),
           ("datetime", "datetime"), ("timedelta", "duration"), ("date", "date"))  # fmt: skip


def _option(check: Any, name: str) -> Any:
    return check.get("value", check.get(name)) if isinstance(check, Mapping) else check


def json_schema(document: Mapping[str, Any], table: str | None) -> Iterator[Statement]:
    """A JSON Schema of a record, or of a list of records."""
    about = document.get("items", document) if document.get("type") == "array" else document
    required = set(about.get("required", ()))
    for name, column in about["properties"].items():
        kinds = column.get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        kind = next((kind for kind in kinds if kind != "null"), "string")
        dated = column.get("format") if column.get("format") in ("date", "date-time", "time", "duration") else None
        yield statement_of(name, dated or kind, column, required=name in required and "null" not in kinds)


def _chosen(tables: Mapping[str, Any], table: str | None) -> Mapping[str, Any]:
    if table is None and len(tables) == 1:
        return dict(next(iter(tables.values())))
    if table is None or table not in tables:
        raise SchemaError(f"say which table is meant, with table=… (--table): {', '.join(tables)}")
    return dict(tables[table])


Reader = Callable[[Mapping[str, Any], str | None], Iterator[Statement]]


def reader_of(document: Any) -> tuple[Reader, str] | None:
    """What reads the format a document is in, and its name; None if it is none of them."""
    if not isinstance(document, Mapping):
        return None
    context = document.get("@context")
    contexts: Sequence[Any] = context if isinstance(context, list) else [context]
    if "http://www.w3.org/ns/csvw" in contexts or "tableSchema" in document:
        return csvw, "the CSVW metadata"
    if "METADATA_SPEC_VERSION" in document or _has_sdtypes(document):
        return sdv, "the SDV metadata"
    if document.get("schema_type") == "dataframe":
        return pandera, "the pandera schema"
    if "resources" in document or isinstance(document.get("fields"), list):
        return frictionless, "the frictionless table schema"
    return (json_schema, "the JSON Schema") if "properties" in document or "items" in document else None


def _has_sdtypes(document: Mapping[str, Any]) -> bool:
    tables = document.get("tables", {"": document})
    if not isinstance(tables, Mapping):
        return False
    columns = (t.get("columns") for t in tables.values() if isinstance(t, Mapping))
    return any(isinstance(c, Mapping) and "sdtype" in one for c in columns if c for one in c.values())
