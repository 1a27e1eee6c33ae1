"""How a frame holds a column, so that doubles come back in the same type: no fact about anyone in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kagemusha.columns.column import Column
from kagemusha.errors import SchemaError
from kagemusha.proposal.draft import FEW_CATEGORIES

USUAL = ("int64", "float64", "double", "timestamp[us]")
"""What doubles have if nothing is declared."""


def held_by(frame: Any) -> str | None:
    """How pandas holds the columns of a table, if all alike and not as its plain types."""
    import narwhals as nw

    if not nw.dependencies.is_pandas_dataframe(frame):
        return None
    ways = {_way(type(dtype).__name__, str(dtype)) for dtype in frame.dtypes} - {EITHER}
    return next(iter(ways)) if len(ways) == 1 else None


EITHER = "either"
"""Categories and moments: pandas has one type for each, which knows gaps."""


def _way(kind: str, said: str) -> str | None:
    """By arrow, as one of pandas' own types that know gaps, plainly, or in a way that says nothing."""
    if kind == "ArrowDtype":
        return EITHER if said.startswith("dictionary") else "pyarrow"
    if said.startswith(("category", "datetime", "timedelta")):
        return EITHER
    return "nullable" if said in ("string", "boolean") or said.startswith(("Int", "UInt", "Float")) else None


def as_held(column: Column, values: Any, native: Any = "") -> Column:
    """The drafted column with the type of its frame, where that is another one than doubles would have."""
    held = None if values is None else _held(column, values.type, str(native))
    if held is None or held in USUAL or "dtype" not in column.fields:
        return column
    try:
        return replace(column, dtype=held, **_levels(column, values))
    except SchemaError:  # the type does not hold what was drafted, bounds rounded outwards, say
        return column


def _levels(column: Column, values: Any) -> dict[str, Any]:
    """All categories of a frame's column, in its order, whether or not a row has them."""
    import pyarrow as pa

    if column.as_labels is None or not pa.types.is_dictionary(values.type):
        return {}
    levels = (values.chunk(0) if isinstance(values, pa.ChunkedArray) else values).dictionary.to_pylist()
    fits = all(isinstance(level, str) and level for level in levels) and len(levels) <= FEW_CATEGORIES
    return {"categories": tuple(levels)} if fits else {}


def _held(column: Column, kind: Any, native: str) -> str | None:
    import pyarrow as pa

    if column.axis is None:
        if native.startswith("Enum") or (pa.types.is_dictionary(kind) and kind.ordered):
            return "ordered"
        if pa.types.is_dictionary(kind) or native.startswith(("category", "Categorical")):
            return "category"
        return "string" if native.startswith("string") else _whole(kind)
    if pa.types.is_decimal(kind):
        return "decimal" if native in ("", "object") else f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_floating(kind):
        return "float32" if kind == pa.float32() else None
    if pa.types.is_date32(kind):
        return "date32"
    return str(kind) if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) else _whole(kind)


def _whole(kind: Any) -> str | None:
    import pyarrow as pa

    return str(kind) if pa.types.is_integer(kind) else None
