"""One way in: whatever holds a table, `open_any` opens it; `open_source` if the schema leaves nothing open."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from kagemusha.errors import SchemaError, UsageError
from kagemusha.files import address_shown, holds_pictures, is_postgres, scheme_of
from kagemusha.schema import Schema
from kagemusha.sources.file import FileSource
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.images import open_images
from kagemusha.sources.lake import DuckTable, open_duckdb
from kagemusha.sources.open_table import OpenFile, OpenFrame, OpenSql, OpenTable
from kagemusha.sources.protocol import Source
from kagemusha.sources.spark import SparkTable, is_spark_frame, spark_table
from kagemusha.sources.sql import SqlSource
from kagemusha.sources.sqltable import SqlTable


def open_source(
    where: Any, schema: Schema | str | PathLike[str], *, table: str | None = None, timeout: float | None = None
) -> Source:
    """A source for whatever holds a table.

    `where` is a frame (pandas, polars, pyarrow, pyspark), a path (CSV or Parquet, also a pattern: `folder/*.parquet`),
    or an address: `postgresql://user@host/database`, `duckdb:///file.db`, `spark://` (the session that is there), each
    with the name of its `table`. `timeout` is how many seconds one statement of PostgreSQL may take. `schema` may be
    the path of its file.

    Raises `SchemaError` where schema and table do not fit, `DataError` where the table cannot be read; neither shows a
    value of the table, nor a password.
    """
    if isinstance(schema, str | PathLike):
        schema = Schema.load(schema)
    found = located(where, table=table, timeout=timeout)
    if isinstance(found, SqlTable):
        return SqlSource(found, schema)
    return FileSource(found, schema) if is_file_like(found) else FrameSource(found, schema)


def is_file_like(found: Any) -> bool:
    """Whether DuckDB reads it."""
    return isinstance(found, str | PathLike | DuckTable)


def located(where: Any, *, table: str | None = None, timeout: float | None = None) -> Any:
    """What an address stands for: a table of an engine or of a database file; paths and frames stand for themselves."""
    if isinstance(where, SqlTable | DuckTable):
        return where
    if isinstance(where, str | PathLike) and scheme_of(where) is None:
        if table is not None or timeout is not None:
            what = "table=… (--table)" if table is not None else "a statement timeout"
            raise UsageError(f"{what} is for databases: a file or frame is one table")
        return where
    if is_spark_frame(where):
        return SparkTable(where, None if table is None else f"spark://#{table}")
    scheme = scheme_of(where)
    if scheme is not None and table is None and "#" in where.rpartition("@")[2]:
        where, _, table = where.rpartition("#")  # as ledgers name it
    if timeout is not None and not is_postgres(where):
        raise UsageError("a statement timeout is for PostgreSQL")
    if is_postgres(where):
        from kagemusha.sources.postgres import TIMEOUT, PostgresTable

        return PostgresTable(where, table, timeout=TIMEOUT if timeout is None else timeout)
    if scheme == "duckdb":
        return open_duckdb(where, table)
    if scheme == "spark":
        return spark_table(table)
    if scheme is not None:
        raise UsageError(f"{address_shown(where)}: a table is a file, or in postgresql://…, duckdb:///… or spark://")
    if table is not None:
        raise UsageError("table=… (--table) is for databases: a file or frame is one table")
    return where


def open_any(where: Any, schema: Schema | None, **place: Any) -> Source | OpenTable:
    """Whatever holds a table, behind its schema; pictures too, and a table whose schema leaves facts open.

    A source is one already.
    """
    if isinstance(where, Source | OpenTable):
        return where
    if schema is None:
        raise SchemaError(
            "a frame or a file needs a schema: pass schema='….toml', or a Schema; `kagemusha schema propose`, or "
            "kagemusha.propose(table), drafts one"
        )
    if holds_pictures(where):
        return open_images(Path(where), schema)
    return open_table(where, schema, **place) if schema.open_facts() else open_source(where, schema, **place)


def open_table(where: Any, schema: Schema, **place: Any) -> OpenTable:
    """A table whose schema leaves facts open; `place` and what is raised are as in `open_source`."""
    found = located(where, **place)
    if isinstance(found, SqlTable):
        return OpenSql(found, schema)
    return OpenFile(found, schema) if is_file_like(found) else OpenFrame(found, schema)
