"""Which tables there are in a folder or a database, and which of their columns its catalogue says belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.files import TABLE_FILES, database_file, is_postgres, scheme_of
from kagemusha.schema.table import NAME
from kagemusha.sources.lake import in_database, schemas_in
from kagemusha.sources.open import located
from kagemusha.sources.postgres import PostgresTable

Links = Sequence[tuple[str, str, str, str]]
"""(table, column, table above, its column)."""

MOST_TABLES = 30

_NAMES = (
    "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname = {schema} ORDER BY 1"
)
_KEYS = (
    "SELECT t.relname, a.attname, r.relname, b.attname FROM pg_catalog.pg_constraint k "
    "JOIN pg_catalog.pg_class t ON t.oid = k.conrelid JOIN pg_catalog.pg_class r ON r.oid = k.confrelid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.conkey[1] "
    "JOIN pg_catalog.pg_attribute b ON b.attrelid = r.oid AND b.attnum = k.confkey[1] "
    "WHERE k.contype = 'f' AND cardinality(k.conkey) = 1 AND n.nspname = {schema} ORDER BY 1, 2"
)


def tables_in(where: Any, place: str | None = None) -> tuple[dict[str, Any], Links]:
    """Tables by name, opened, and the foreign keys of the catalogue."""
    if isinstance(where, Mapping):
        return {str(name): located(table) for name, table in where.items()}, []
    scheme = scheme_of(where)
    if scheme is None:
        return _in_folder(Path(where)), []
    if is_postgres(where):
        return _in_postgres(str(where), place or "public")
    if scheme == "duckdb":
        return _in_duckdb(str(where), place or "main")
    raise UsageError(f"several tables are drafted from a folder, postgresql:// or duckdb:///, not from {scheme}")


def is_several(where: str | PathLike[str], place: str | None = None) -> bool:
    """Whether something holds tables that may belong together: a folder of them, or a schema of a database."""
    scheme = scheme_of(where)
    if scheme is None:
        return Path(where).is_dir() and bool(_files(Path(where)))
    if is_postgres(where) and place is not None and "." not in place:
        with PostgresTable.catalogue(str(where)) as ask:
            spelt = ask.dialect.literal(place)
            return bool(ask.rows(f"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {spelt}"))
    return scheme == "duckdb" and (place is None or (place in _schemas(str(where))))


def _schemas(url: str) -> set[str]:
    return schemas_in(database_file(url))


def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in TABLE_FILES if file.name.endswith(suffix)), None)
        if suffix is not None and file.is_file():
            found.setdefault(file.name.removesuffix(suffix), file)
    return found


def _in_folder(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    return {name: located(file) for name, file in _some(_files(folder), str(folder)).items()}


def _in_postgres(url: str, schema: str) -> tuple[dict[str, Any], Links]:
    with PostgresTable.catalogue(url) as ask:
        spelt = ask.dialect.literal(schema)
        names = [str(row[0]) for row in ask.rows(_NAMES.format(schema=spelt))]
        links = [tuple(map(str, row)) for row in ask.rows(_KEYS.format(schema=spelt))]
    if not names:
        raise UsageError(f"there are no tables in a schema {schema!r}, or this user may not see them")
    some = _some({name: name for name in names}, schema)
    first, *others = some
    opened = PostgresTable(url, f"{schema}.{first}")
    found = {first: opened, **{name: opened.beside(f"{schema}.{name}") for name in others}}
    return found, [(a, b, c, d) for a, b, c, d in links if b and d]


def _in_duckdb(url: str, schema: str) -> tuple[dict[str, Any], Links]:
    names, links = in_database(database_file(url), schema)
    some = _some({name: name for name in names}, schema)
    return {name: located(url, table=f"{schema}.{name}") for name in some}, links


def _some(found: Mapping[str, Any], where: str) -> dict[str, Any]:
    import re

    named = {name: table for name, table in found.items() if re.fullmatch(NAME, name)}
    if len(named) > MOST_TABLES:
        raise UsageError(f"{where}: holds {len(named):,} tables; at most {MOST_TABLES} are drafted together")
    return named
