"""Arrow columns in the plain forms of `values.py`.

What type a table gave a column decides how fast it is read, never what its values are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray
from kagemusha.columns.label import MICROSECONDS_PER_DAY
from kagemusha.columns.values import (
    FIRST_MOMENT,
    FIRST_NANOSECOND,
    LAST_MOMENT,
    LAST_NANOSECOND,
    LONGEST,
    UNREADABLE,
    Elapsed,
    Instant,
    Plain,
    plain,
    plains,
)
from kagemusha.errors import SchemaError

Found = TypeVar("Found")

_STAMPS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def chunks_of(values: Any) -> list[Any]:
    """The arrays that a chunked array is made of."""
    import pyarrow as pa

    return list(values.chunks) if isinstance(values, pa.ChunkedArray) else [values]


def by_distinct(values: Any, read: Callable[[Any], Any]) -> Any:
    """Read each distinct value once; `read` gets the distinct values with one null at the end."""
    import pyarrow as pa

    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    distinct = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
    table = read(distinct)
    indices = coded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(distinct) - 1)
    return table[indices.to_numpy(zero_copy_only=False)]


def plain_values(values: Any) -> list[Plain]:
    """The plain form of each value of an arrow array of any flat type."""
    import pyarrow as pa

    if is_temporal(values.type):
        microseconds, missing = microseconds_of(values)
        null = values.is_null().to_numpy(zero_copy_only=False)
        return [
            None if gap else UNREADABLE if far else Instant(stamp)
            for stamp, far, gap in zip(microseconds.tolist(), missing.tolist(), null.tolist(), strict=True)
        ]
    if pa.types.is_duration(values.type):
        spans = spans_of(values)
        assert spans is not None
        gaps = values.is_null().to_pylist()
        return [
            None if gap else UNREADABLE if far else Elapsed(span)
            for span, far, gap in zip(spans[0].tolist(), spans[1].tolist(), gaps, strict=True)
        ]
    with suppress(OverflowError, ValueError):
        return plains(values.to_pylist())
    found: list[Plain] = []
    for scalar in values:
        value: Any = UNREADABLE  # what Python cannot hold
        with suppress(OverflowError, ValueError):
            value = scalar.as_py()
        found.append(plain(value))
    return found


def is_temporal(kind: Any) -> bool:
    """Whether a type holds moments."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_text(kind: Any) -> bool:
    """Whether a type holds texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def floats_of(values: Any) -> NDArray[Any] | None:
    """Stored numbers and booleans as float64, NaN where there is none; None for other types."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        return None
    found: NDArray[Any] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def microseconds_of(values: Any) -> tuple[IntArray, NDArray[np.bool_]]:
    """Microseconds since 1970, in UTC where there is a zone; and which values are missing or too far away."""
    import pyarrow as pa

    kind = values.type
    missing = values.is_null().to_numpy(zero_copy_only=False)
    days = pa.types.is_date32(kind)
    counts = values.view(pa.int32() if days else pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return counts // 1_000, missing | (counts < FIRST_NANOSECOND) | (counts > LAST_NANOSECOND)
    size = MICROSECONDS_PER_DAY if days else 1_000 if pa.types.is_date64(kind) else _STAMPS[kind.unit]
    far = (counts < -(-FIRST_MOMENT // size)) | (counts > LAST_MOMENT // size)
    return np.where(far, 0, counts.astype(np.int64)) * size, missing | far


def spans_of(values: Any) -> tuple[IntArray, NDArray[np.bool_]] | None:
    """Microseconds of times of the day and of durations, and which are missing or too long; None for other types."""
    import pyarrow as pa

    kind = values.type
    if not pa.types.is_time(kind) and not pa.types.is_duration(kind):
        return None
    missing = values.is_null().to_numpy(zero_copy_only=False)
    counts = values.view(pa.int32() if pa.types.is_time32(kind) else pa.int64()).fill_null(0)
    found = counts.to_numpy(zero_copy_only=False).astype(np.int64)
    if kind.unit == "ns":
        found, size = found // 1_000, 1
    else:
        size = _STAMPS[kind.unit]
    far = (found > LONGEST // size) | (found < -(LONGEST // size))
    return np.where(far, 0, found) * size, missing | far


def check_flat(name: str, kind: str, stored: Any) -> None:
    """A `SchemaError` for a nested column, the one type that no flat value can give to a column."""
    import pyarrow as pa

    inner = stored.value_type if pa.types.is_dictionary(stored) else stored
    if pa.types.is_nested(inner):
        raise not_flat(name, kind)


def not_flat(name: str, kind: str) -> SchemaError:
    """What is wrong with a column of lists or records; the names inside a nested type may be values."""
    return SchemaError(
        f"column {name!r} is declared {kind}, but the table stores it as nested; "
        "store one value in a cell, or drop the column"
    )


def arrow_type(name: str) -> Any:
    """The arrow type of a declared `dtype`."""
    import pyarrow as pa

    if name.startswith(("timestamp", "duration")):
        unit, _, zone = name.partition("[")[2].rstrip("]").partition(", tz=")
        return pa.timestamp(unit, zone or None) if name.startswith("timestamp") else pa.duration(unit)
    return pa.type_for_alias(name)
