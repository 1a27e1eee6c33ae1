"""One way in: whatever holds the table, `open_source` makes a `Source` of it."""

from __future__ import annotations

from os import PathLike
from typing import Any

from kagemusha.schema import Schema
from kagemusha.sources.file import FileSource
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.protocol import Source


def open_source(table: Any, schema: Schema | str | PathLike[str]) -> Source:
    """A source for a frame (pandas, polars, pyarrow) or the path of a CSV or Parquet file.

    `schema` may be the path of its file. Raises `SchemaError` where schema and table do not fit, `DataError` where the table cannot be read; neither
    shows a value of the table.
    """
    if isinstance(schema, str | PathLike):
        schema = Schema.load(schema)
    if isinstance(table, str | PathLike):
        return FileSource(table, schema)
    return FrameSource(table, schema)
