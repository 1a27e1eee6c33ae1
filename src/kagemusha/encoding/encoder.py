"""Raw tables into codes and codes back into tables that look like the raw one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.bins import Span
from kagemusha.columns.cells import Cells
from kagemusha.columns.parse import TextReader
from kagemusha.columns.values import plains
from kagemusha.encoding.frames import (
    build_frame,
    check_names,
    column_values,
    complete,
    formula_codes,
    formula_inputs,
    open_frame,
)
from kagemusha.errors import SchemaError, UsageError
from kagemusha.schema import Schema


class Encoder:
    """Translates between a table and its codes, as the schema declares.

    ``encode(decode(codes)) == codes`` for every array of codes. No value of the table can make it fail.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.domain = schema.domain

    def encode(self, frame: Any) -> IntArray:
        """Codes of a table, one row per record, one column per modelled column, in domain order."""
        columns = self.encode_columns(frame)
        rows = len(columns[0])
        codes = np.empty((rows, len(columns)), dtype=np.int64)
        for axis, column in enumerate(columns):
            codes[:, axis] = column
        return codes

    def encode_columns(self, frame: Any) -> list[Codes]:
        """Codes of each modelled column in the smallest integer type that holds them."""
        opened = open_frame(frame)
        check_names(opened.columns, self.schema)
        reader = TextReader()
        try:
            raw = {c.name: c.read(column_values(opened, c.name), reader) for c in formula_inputs(self.schema)}
            return [
                formula_codes(self.schema, c.name, raw)
                if c.name in self.schema.formulas
                else c.encode(column_values(opened, c.name), reader)
                for c in self.schema.modelled
            ]
        finally:
            reader.close()

    def read(self, frame: Any) -> dict[str, Cells]:
        """The values of every column of a table, real or synthetic, as rules see them; dropped ones may be absent."""
        opened = open_frame(frame)
        columns = self.schema.coded
        lacking = [c.name for c in columns if c.name not in opened.columns]
        if lacking:
            raise SchemaError(f"the table lacks column {lacking[0]!r} that the schema declares")
        reader = TextReader()
        try:
            return {c.name: c.read(column_values(opened, c.name), reader) for c in columns}
        finally:
            reader.close()

    def encode_column(self, name: str, values: Any) -> Codes:
        """Codes of the values of one column: an arrow array, or a list of Python values."""
        column = next((c for c in self.schema.with_codes if c.name == name), None)
        if column is None:
            raise UsageError(f"column {name!r} is {self.schema[name].kind}: it has no codes")
        reader = TextReader()
        try:
            return column.encode(plains(values) if isinstance(values, list) else values, reader)
        finally:
            reader.close()

    def decode(
        self,
        codes: NDArray[Any],
        *,
        rng: np.random.Generator,
        like: Any = "pandas",
        within: Mapping[str, Span] | None = None,
        first: int = 0,
    ) -> Any:
        """A table of the codes: columns, types, formats and gaps of the schema; dropped columns are absent.

        `like` is "pandas", "polars", "pyarrow", or a frame whose library to use; types follow from the schema alone,
        since those of a frame depend on single records. Values are drawn uniformly inside their bins with `rng`, or
        inside the parts of them that `within` gives for some columns. Made-up identifiers go on after the `first` ones.
        """
        return self.frame(self.draw(codes, rng=rng, within=within), like=like, first=first)

    def draw(
        self,
        codes: NDArray[Any],
        *,
        rng: np.random.Generator,
        within: Mapping[str, Span] | None = None,
        shapes: Mapping[str, FloatArray] | None = None,
    ) -> dict[str, Cells]:
        """The values of codes: drawn inside their bins by their `shapes`, and worked out where a formula says them."""
        if codes.ndim != 2 or codes.shape[1] != len(self.domain):
            raise UsageError(f"codes need two axes and {len(self.domain)} columns, got shape {codes.shape}")
        cells: dict[str, Cells] = {}
        for column in self.schema.modelled:
            own = codes[:, self.domain.axis(column.name)].astype(np.int64)
            if len(own) and not 0 <= own.min() <= own.max() < column.size:
                raise UsageError(f"column {column.name!r}: codes must lie in 0 to {column.size - 1}")
            cells[column.name] = column.draw(
                own, rng=rng, within=(within or {}).get(column.name), shape=(shapes or {}).get(column.name)
            )
        return complete(self.schema, cells, rng)

    def frame(self, cells: Mapping[str, Cells], *, like: Any = "pandas", first: int = 0) -> Any:
        """A table of values, with fresh identifiers that go on after the `first` ones."""
        rows = len(next(iter(cells.values())).codes)
        kept = [column for column in self.schema.table_columns if column.in_doubles]
        arrays = {c.name: c.output(cells.get(c.name), first, rows) for c in kept}
        return build_frame(arrays, kept, like, self.schema.frame)
