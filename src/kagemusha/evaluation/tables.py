"""Tables opened for evaluation: real ones are read whole here, so whatever comes of it is INTERNAL."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.encoding.frames import open_frame
from kagemusha.files import holds_pictures
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Schema
from kagemusha.sources import Source, open_source
from kagemusha.sources.images import open_images
from kagemusha.sources.rawfile import open_file


def read_table(table: Any, schema: Schema) -> CodedTable:
    """A file, a frame, a source or codes as a table that can be evaluated.

    Columns the schema drops or replaces may be absent; any other difference between schema and table is an error
    that names the column and no value.
    """
    if isinstance(table, CodedTable):
        return table
    if isinstance(table, np.ndarray):
        return CodedTable.of_codes(schema, table)
    if isinstance(table, Source):
        source: Source = table
    else:
        if holds_pictures(table):
            return CodedTable(schema, open_images(Path(table), schema).records()[0])
        names = (
            open_file(table, schema.encoding).names if isinstance(table, str | PathLike) else open_frame(table).columns
        )
        source = open_source(table, present(schema, set(names)))
    columns, _ = source.records()
    return CodedTable(source.schema, columns)


def present(schema: Schema, names: set[str]) -> Schema:
    """The schema without columns that are dropped or made up and that the table lacks."""
    there = names | {c.name for c in schema.with_codes}
    kept = (c for c in schema if c.name in there)
    return Schema(kept, constraints=schema.constraints, weight=schema.weight, encoding=schema.encoding)
