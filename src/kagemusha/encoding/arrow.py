"""Raw arrow columns into codes. No message ever shows a value: it names column and stored type."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes
from kagemusha.encoding.bins import code_type, to_codes
from kagemusha.encoding.parse import TextReader
from kagemusha.encoding.values import UNREADABLE, label_text
from kagemusha.errors import SchemaError
from kagemusha.schema import Labelled, Measured, Modelled, Moment


def encode_arrow(column: Modelled, values: Any, reader: TextReader) -> Codes:
    """Codes of an arrow (chunked) array, in the smallest integer type that holds them."""
    import pyarrow as pa

    chunks = values.chunks if hasattr(values, "chunks") else [values]
    parts: list[Codes] | None = None
    with suppress(pa.ArrowException):
        parts = [_encode_chunk(column, chunk, reader) for chunk in chunks]
    if parts is None:
        # Raised here and not in the handler: arrow's message may hold a value.
        raise _mismatch(column, values.type)
    return np.concatenate(parts) if parts else np.empty(0, dtype=code_type(column.size))


def _encode_chunk(column: Modelled, values: Any, reader: TextReader) -> Codes:
    import pyarrow as pa

    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    if isinstance(column, Labelled):
        check_plain(column, values.type)
        return _by_distinct(values, lambda distinct: _labelled(column, python_values(distinct)))
    assert isinstance(column, Measured)
    if isinstance(column, Moment):
        return _moments(column, values, reader)
    return _numbers(column, values, reader)


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


def python_values(distinct: Any) -> list[Any]:
    """The Python values of an arrow array; those that Python cannot hold are unreadable."""
    with suppress(OverflowError, ValueError):
        return list(distinct.to_pylist())
    values = []
    for scalar in distinct:
        value: Any = UNREADABLE
        with suppress(OverflowError, ValueError):
            value = scalar.as_py()
        values.append(value)
    return values


def _labelled(column: Labelled, distinct: list[Any]) -> Codes:
    texts = column.texts
    codes = np.empty(len(distinct), dtype=code_type(column.size))
    for i, value in enumerate(distinct):
        text = label_text(value)
        code = None if text is None else texts.get(text)
        if code is None:
            code = column.empty_code if text is None or text == "" else column.stray_code
        codes[i] = code
    return codes


def _numbers(column: Measured, values: Any, reader: TextReader) -> Codes:
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind) or is_text(kind):
        return _by_distinct(values, lambda distinct: _number_codes(column, distinct, reader))
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            or pa.types.is_decimal(kind)):  # fmt: skip
        raise _mismatch(column, kind)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return to_codes(column, numbers, np.isnan(numbers))


def _number_codes(column: Measured, distinct: Any, reader: TextReader) -> Codes:
    if not is_text(distinct.type):
        import pyarrow as pa

        return _numbers(column, pa.array(distinct), reader)
    numbers = reader.numbers(distinct)
    return to_codes(column, numbers, np.isnan(numbers))


def _moments(column: Moment, values: Any, reader: TextReader) -> Codes:
    import pyarrow as pa

    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit))
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        missing = values.is_null().to_numpy(zero_copy_only=False)
        moments = np.asarray(values.to_numpy(zero_copy_only=False), dtype="M8")
        missing |= np.isnat(moments)
        return _moment_codes(column, moments, missing)
    if pa.types.is_integer(kind):
        values = values.cast(pa.string())
    if not pa.types.is_dictionary(kind) and not is_text(values.type):
        raise _mismatch(column, kind)
    return _by_distinct(values, lambda distinct: _text_moments(column, distinct, reader))


def _text_moments(column: Moment, distinct: Any, reader: TextReader) -> Codes:
    if not is_text(distinct.type):
        return _moments(column, distinct, reader)
    microseconds, missing = reader.moments(distinct, column.format)
    return _moment_codes(column, microseconds.astype("M8[us]"), missing)


def _moment_codes(column: Moment, moments: NDArray[Any], missing: NDArray[np.bool_]) -> Codes:
    numbers = moments.astype(f"M8[{column.unit}]").astype(np.int64)
    return to_codes(column, numbers, missing)


def check_plain(column: Modelled, kind: Any) -> None:
    """A `SchemaError` for nested and binary columns: labels are looked up by their text, which those do not have."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_plain = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
                pa.types.is_date, pa.types.is_timestamp, pa.types.is_null, is_text)  # fmt: skip
    if not any(check(plain) for check in is_plain):
        raise _mismatch(column, kind)


def is_text(kind: Any) -> bool:
    """Whether an arrow type holds text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _mismatch(column: Modelled, kind: Any) -> SchemaError:
    import pyarrow as pa

    stored = "nested" if pa.types.is_nested(kind) else kind  # the names inside a nested type may be values
    return SchemaError(
        f"column {column.name!r} is declared {column.kind}, but the table stores it as {stored}; "
        "declare the kind it has, or drop it"
    )
