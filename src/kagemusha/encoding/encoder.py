"""Raw tables into codes and codes back into tables that look like the raw one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.arrow import encode_arrow, encode_plain
from kagemusha.encoding.bins import Span, draw
from kagemusha.encoding.frames import build_frame, check_names, encode_series, open_frame
from kagemusha.encoding.parse import TextReader
from kagemusha.encoding.values import plains
from kagemusha.errors import UsageError
from kagemusha.schema import Column, Drop, Label, Labelled, Measured, Modelled, Moment, Schema, Surrogate
from kagemusha.schema.labels import text_of


class Encoder:
    """Translates between a table and its codes, as the schema declares.

    ``encode(decode(codes)) == codes`` for every array of codes. No value of the table can make it fail.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.domain = schema.domain

    def encode(self, frame: Any) -> IntArray:
        """Codes of a table, one row a record, one column a modelled column, in domain order."""
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
            return [encode_series(opened, c, reader) for c in self.schema.modelled]
        finally:
            reader.close()

    def encode_column(self, name: str, values: Any) -> Codes:
        """Codes of the values of one column: an arrow array, or a list of Python values."""
        column = self.schema[name]
        if not isinstance(column, Modelled):
            raise UsageError(f"column {name!r} is {column.kind}: it has no codes")
        reader = TextReader()
        try:
            if isinstance(values, list):
                return encode_plain(column, plains(values), reader)
            return encode_arrow(column, values, reader)
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
        since those of a frame hang on single records. Values are drawn uniformly inside their bins with `rng`, or
        inside the parts of them that `within` gives for some columns. Made-up identifiers go on after the `first` ones.
        """
        if codes.ndim != 2 or codes.shape[1] != len(self.domain):
            raise UsageError(f"codes need two axes and {len(self.domain)} columns, got shape {codes.shape}")
        arrays: dict[str, Any] = {}
        for column in self.schema:
            if isinstance(column, Modelled):
                axis = self.domain.axis(column.name)
                arrays[column.name] = decode_column(
                    column, codes[:, axis].astype(np.int64), rng=rng, within=(within or {}).get(column.name)
                )
            elif isinstance(column, Surrogate):
                arrays[column.name] = _surrogates(column, first, len(codes))
        kept: list[Column] = [column for column in self.schema if not isinstance(column, Drop)]
        return build_frame(arrays, kept, like)


def decode_column(column: Modelled, codes: IntArray, *, rng: np.random.Generator, within: Span | None = None) -> Any:
    """The arrow array of one column's codes."""
    if len(codes) and not 0 <= codes.min() <= codes.max() < column.size:
        raise UsageError(f"column {column.name!r}: codes must lie in 0 to {column.size - 1}")
    if isinstance(column, Labelled):
        return _labels(column, codes)
    assert isinstance(column, Measured)
    return _measured(column, codes, rng, within)


def _labels(column: Labelled, codes: IntArray) -> Any:
    import pyarrow as pa

    labels: list[Label | None] = list(column.labels)
    kinds = {type(label) for label in labels}
    if kinds == {bool}:
        kind = pa.bool_()
    elif kinds == {int} and (whole := _whole_type(column)) is not None:
        kind = whole
    else:
        # Labels of mixed types have one common type: text.
        kind, labels = pa.string(), [text_of(label) for label in column.labels]
    return pa.array([*labels, None], type=kind).take(pa.array(codes))


def arrow_type(name: str) -> Any:
    """The arrow type of a declared `dtype`."""
    import pyarrow as pa

    return pa.timestamp(name[10:-1]) if name.startswith("timestamp") else pa.type_for_alias(name)


def _whole_type(column: Labelled) -> Any:
    """The type of whole labels; None if there is none that holds them all."""
    import pyarrow as pa

    if column.dtype is not None:
        return arrow_type(column.dtype)
    low, high = min(map(int, column.labels)), max(map(int, column.labels))
    if low >= -(2**63) and high < 2**63:
        return pa.int64()
    return pa.uint64() if low >= 0 and high < 2**64 else None


def _measured(column: Measured, codes: IntArray, rng: np.random.Generator, within: Span | None) -> Any:
    import pyarrow as pa

    missing = codes >= column.ordinary
    numbers = draw(column, np.where(missing, 0, codes), rng=rng, within=within)
    if not isinstance(column, Moment):
        drawn = pa.array(numbers, mask=missing)
        return drawn if column.dtype is None else drawn.cast(column.dtype)
    moments = numbers.astype(f"M8[{column.unit}]")
    if column.format is None:
        kind = arrow_type(column.dtype or ("date32" if column.kind == "date" else "timestamp[us]"))
        return pa.array(moments.astype("M8[us]"), mask=missing).cast(kind)
    distinct, where = np.unique(moments, return_inverse=True)
    texts = [moment.strftime(column.format) for moment in distinct.astype("M8[us]").astype(object)]
    indices = pa.array(where.astype(np.int64), mask=missing)
    return pa.array(texts, type=pa.string()).take(indices)


def _surrogates(column: Surrogate, first: int, rows: int) -> Any:
    import pyarrow as pa

    return pa.array(
        [f"{column.prefix}{i:0{column.digits}d}" for i in range(first + 1, first + rows + 1)], type=pa.string()
    )
