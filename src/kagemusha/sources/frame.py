"""A table in memory: encoded once into compact codes; the raw values are not kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.arrow import plain_values
from kagemusha.columns.values import Plain
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import column_values, library_of, open_frame
from kagemusha.schema import Schema
from kagemusha.sources.bounding import Persons, bounded
from kagemusha.sources.protocol import Source


class FrameSource(Source):
    """Any frame narwhals reads (pandas, polars, pyarrow, …)."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        self._schema = schema
        opened = open_frame(frame)
        self._columns = Encoder(schema).encode_columns(opened)
        self._library = library_of(opened)
        self._persons: IntArray | None = None
        if schema.unit.column is not None:
            self._bound(unit_values(opened, schema.unit.column), schema.unit.max_rows)

    def _bound(self, values: Sequence[Plain], most: int) -> None:
        known = Persons()
        persons = known.number(values)
        rows = bounded(persons, known.names, self._columns, most)
        self._columns = [column[rows] for column in self._columns]
        self._persons = np.unique(persons[rows], return_inverse=True)[1].astype(np.int64)

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        return self._schema

    def batches(self) -> Iterator[list[Codes]]:
        """All rows at once."""
        yield self._columns

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, and whose they are."""
        return self._columns, np.arange(len(self._columns[0])) if self._persons is None else self._persons

    def native_like(self) -> Any:
        """The name of the library that came in; types of columns depend on single records and are left behind."""
        return self._library


def unit_values(opened: Any, name: str) -> list[Plain]:
    """The plain values of the column that tells persons apart."""
    values = column_values(opened, name)
    return values if isinstance(values, list) else plain_values(values)
