"""Raw arrow columns into codes: the twin of `reference.code_of` for whole columns.

Every stored type is brought into the plain forms of `values.py`, and its values are coded from those: what type a
table gave a column decides how fast it is read, never what its values are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.bins import code_type, to_codes
from kagemusha.encoding.cells import Cells
from kagemusha.encoding.parse import TextReader
from kagemusha.encoding.reference import label_code
from kagemusha.encoding.values import (
    FIRST_MOMENT,
    FIRST_NANOSECOND,
    LAST_MOMENT,
    LAST_NANOSECOND,
    UNREADABLE,
    Instant,
    Plain,
    plain,
    plains,
)
from kagemusha.errors import SchemaError
from kagemusha.schema import Labelled, Measured, Modelled, Moment
from kagemusha.schema.spelling import MICROSECONDS_A_DAY, number_text

_STAMPS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def encode_arrow(column: Modelled, values: Any, reader: TextReader) -> Codes:
    """Codes of an arrow (chunked) array, in the smallest integer type that holds them."""
    import pyarrow as pa

    check_flat(column, values.type)
    parts = []
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        codes = None
        with suppress(pa.ArrowException):
            codes = _encode_chunk(column, chunk, reader)
        # What arrow cannot do for the column is done value by value.
        parts.append(encode_plain(column, plain_values(chunk), reader) if codes is None else codes)
    return np.concatenate(parts) if parts else np.empty(0, dtype=code_type(column.size))


def encode_plain(column: Modelled, values: Sequence[Plain], reader: TextReader) -> Codes:
    """Codes of plain values."""
    if isinstance(column, Labelled):
        return np.array([label_code(column, value) for value in values], dtype=code_type(column.size))
    assert isinstance(column, Measured)
    numbers, missing, texts = _read_plain(column, values, reader)
    codes = (
        _moment_codes(column, numbers, missing)
        if isinstance(column, Moment)
        else to_codes(column, numbers, missing | np.isnan(numbers))
    )
    for row, text in texts.items() if column.special_texts else ():
        if text in column.special_texts:
            codes[row] = column.ordinary + column.special_texts[text]
    return codes


def _read_plain(
    column: Measured, values: Sequence[Plain], reader: TextReader
) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
    """Numbers (of moments: microseconds since 1970), which of them are missing, and the rows that were texts."""
    moments = isinstance(column, Moment)
    numbers: NDArray[Any] = np.zeros(len(values), dtype=np.int64 if moments else np.float64)
    missing = np.zeros(len(values), dtype=np.bool_)
    texts: dict[int, str] = {}
    for row, value in enumerate(values):
        if isinstance(value, Instant):
            numbers[row] = value.microseconds if moments else _days(np.int64(value.microseconds))
        elif value is None:
            missing[row] = True
        elif isinstance(value, str) or moments:
            texts[row] = value if isinstance(value, str) else number_text(value)
        else:
            numbers[row] = value
    if texts:
        rows, read = list(texts), list(texts.values())
        if isinstance(column, Moment):
            numbers[rows], missing[rows] = reader.moments(read, column.format)
        else:
            numbers[rows] = reader.numbers(read)
    return numbers, missing, texts


def read_arrow(column: Modelled, values: Any, reader: TextReader) -> Cells:
    """The values of an arrow (chunked) array: what a formula or a rule sees of a raw column."""
    import pyarrow as pa

    if isinstance(column, Labelled):
        codes = encode_arrow(column, values, reader).astype(np.int64)
        return Cells(codes, np.zeros(len(codes)))
    assert isinstance(column, Measured)
    check_flat(column, values.type)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    parts = [_read_chunk(column, chunk, reader) for chunk in chunks]
    if not parts:
        return Cells(np.zeros(0, dtype=np.int64), np.zeros(0))
    return Cells(np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts]))


def _read_chunk(column: Measured, values: Any, reader: TextReader) -> Cells:
    import pyarrow as pa

    kind = values.type
    if _is_temporal(kind) and isinstance(column, Moment):
        return moment_cells(column, *_microseconds(values))
    if not isinstance(column, Moment) and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return number_cells(column, numbers, np.isnan(numbers))
    coded = values if pa.types.is_dictionary(kind) else values.dictionary_encode()
    distinct = read_plain(
        column, plain_values(pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])), reader
    )
    return distinct[coded.indices.cast(pa.int64()).fill_null(len(distinct.codes) - 1).to_numpy(zero_copy_only=False)]


def read_plain(column: Measured, values: Sequence[Plain], reader: TextReader) -> Cells:
    """The values of plain values."""
    numbers, missing, texts = _read_plain(column, values, reader)
    cells = (moment_cells if isinstance(column, Moment) else number_cells)(column, numbers, missing | np.isnan(numbers))
    for row, text in texts.items():
        if text in column.special_texts:
            cells.codes[row] = column.special_texts[text]
    return cells


def moment_cells(column: Measured, microseconds: IntArray, missing: NDArray[np.bool_]) -> Cells:
    """Moments in microseconds since 1970 as places on the column's lattice."""
    assert isinstance(column, Moment)
    return number_cells(column, microseconds.astype("M8[us]").astype(f"M8[{column.unit}]").astype(np.int64), missing)


def number_cells(column: Measured, numbers: NDArray[Any], missing: NDArray[np.bool_]) -> Cells:
    """Places on the column's axis, special values told apart."""
    codes = np.where(missing, len(column.special), -1)
    for number, special in column.special_numbers.items():
        codes[(numbers == number) & ~missing] = special
    return Cells(codes, numbers)


def _encode_chunk(column: Modelled, values: Any, reader: TextReader) -> Codes:
    import pyarrow as pa

    kind = values.type
    if isinstance(column, Labelled) or pa.types.is_dictionary(kind):
        return _by_distinct(values, lambda distinct: encode_plain(column, plain_values(distinct), reader))
    assert isinstance(column, Measured)
    if _is_temporal(kind):
        microseconds, missing = _microseconds(values)
        if isinstance(column, Moment):
            return _moment_codes(column, microseconds, missing)
        return to_codes(column, _days(microseconds), missing)
    if _is_text(kind):
        return _by_distinct(values, lambda distinct: _text_codes(column, distinct, reader))
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if isinstance(column, Moment) or not number:
        return _by_distinct(values, lambda distinct: encode_plain(column, plain_values(distinct), reader))
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return to_codes(column, numbers, np.isnan(numbers))


def _text_codes(column: Measured, texts: Any, reader: TextReader) -> Codes:
    """Codes of texts as they are, without a turn through Python."""
    if column.special_texts:
        return encode_plain(column, plain_values(texts), reader)
    if isinstance(column, Moment):
        return _moment_codes(column, *reader.moments(texts, column.format))
    numbers = reader.numbers(texts)
    return to_codes(column, numbers, np.isnan(numbers))


def _by_distinct(values: Any, encode: Callable[[Any], Codes]) -> Codes:
    """Encode each distinct value once. `encode` gets the distinct values with one null at the end."""
    import pyarrow as pa

    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    distinct = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
    table = encode(distinct)
    indices = coded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(distinct) - 1)
    codes: Codes = table[indices.to_numpy(zero_copy_only=False)]
    return codes


def plain_values(values: Any) -> list[Plain]:
    """The plain form of each value of an arrow array of any flat type."""
    import pyarrow as pa

    if _is_temporal(values.type):
        microseconds, missing = _microseconds(values)
        null = values.is_null().to_numpy(zero_copy_only=False)
        return [
            None if gap else UNREADABLE if far else Instant(stamp)
            for stamp, far, gap in zip(microseconds.tolist(), missing.tolist(), null.tolist(), strict=True)
        ]
    if pa.types.is_duration(values.type):
        return [UNREADABLE if valid else None for valid in values.is_valid().to_pylist()]
    with suppress(OverflowError, ValueError):
        return plains(values.to_pylist())
    found: list[Plain] = []
    for scalar in values:
        value: Any = UNREADABLE  # what Python cannot hold
        with suppress(OverflowError, ValueError):
            value = scalar.as_py()
        found.append(plain(value))
    return found


def _is_temporal(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _microseconds(values: Any) -> tuple[IntArray, NDArray[np.bool_]]:
    """Microseconds since 1970, in UTC where there is a zone; and which values are missing or too far away."""
    import pyarrow as pa

    kind = values.type
    missing = values.is_null().to_numpy(zero_copy_only=False)
    days = pa.types.is_date32(kind)
    counts = values.view(pa.int32() if days else pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return counts // 1_000, missing | (counts < FIRST_NANOSECOND) | (counts > LAST_NANOSECOND)
    size = MICROSECONDS_A_DAY if days else 1_000 if pa.types.is_date64(kind) else _STAMPS[kind.unit]
    far = (counts < -(-FIRST_MOMENT // size)) | (counts > LAST_MOMENT // size)
    return np.where(far, 0, counts.astype(np.int64)) * size, missing | far


def _days(microseconds: Any) -> Any:
    return microseconds.astype(np.float64) / float(MICROSECONDS_A_DAY)


def _moment_codes(column: Moment, microseconds: IntArray, missing: NDArray[np.bool_]) -> Codes:
    places = microseconds.astype("M8[us]").astype(f"M8[{column.unit}]").astype(np.int64)
    return to_codes(column, places, missing)


def check_flat(column: Modelled, kind: Any) -> None:
    """A `SchemaError` for a nested column, the one type that no flat value can give to a column."""
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(inner):
        raise not_flat(column)


def not_flat(column: Modelled) -> SchemaError:
    """What is wrong with a column of lists or records; the names inside a nested type may be values."""
    return SchemaError(
        f"column {column.name!r} is declared {column.kind}, but the table stores it as nested; "
        "store one value in a cell, or drop the column"
    )
