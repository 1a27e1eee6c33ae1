"""One way in: whatever holds the table, `open_source` makes a `Source` of it."""

from __future__ import annotations

from os import PathLike
from typing import Any

from kagemusha.schema import Schema
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.protocol import Source


def open_source(table: Any, schema: Schema) -> Source:
    """A source for a frame (pandas, polars, pyarrow) or the path of a CSV or Parquet file."""
    if isinstance(table, str | PathLike):
        raise NotImplementedError
    return FrameSource(table, schema)
