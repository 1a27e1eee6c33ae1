"""Any frame in, the same frame out: narwhals names the frame, arrow carries the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kagemusha.encoding.values import object_texts
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.schema import Column, Integer, Labelled, Modelled, Moment, Schema

LIBRARIES = ("pandas", "polars", "pyarrow")


def open_frame(frame: Any) -> Any:
    """The frame as an eager narwhals frame."""
    import narwhals as nw

    try:
        opened = nw.from_native(frame)
    except TypeError:
        raise DataError(
            f"a {type(frame).__name__} is no table; give a pandas, polars or pyarrow table, or a file"
        ) from None
    except Exception:
        raise DataError("the table cannot be opened; are its column names distinct texts?") from None
    return opened.collect() if isinstance(opened, nw.LazyFrame) else opened


def check_names(found: Sequence[str], schema: Schema, where: str = "the table") -> None:
    """Every declared column must be there and every column there must be declared."""
    present = set(found)
    if len(present) != len(found):
        raise DataError(f"{where} has two columns of the same name; every name must be its own")
    lacking = [name for name in schema.names if name not in present]
    if lacking:
        raise SchemaError(f"{where} lacks {_some(lacking)} that the schema declares")
    declared = set(schema.names)
    extra = [name for name in found if name not in declared]
    if extra:
        raise SchemaError(
            f"{where} has {_some(extra)} that the schema does not declare; "
            'declare every column, at least with kind = "drop"'
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"column {names[0]!r}{more}"


def arrow_column(frame: Any, column: Modelled) -> Any:
    """One column as arrow. Python objects become texts, each by itself: a type common to all would hang on each."""
    series = frame[column.name]
    native = series.to_native()
    if str(getattr(native, "dtype", "")) == "object":
        return object_texts(column, native.to_numpy())
    with suppress(Exception):
        return series.to_arrow()
    return object_texts(column, series.to_list())


def library_of(like: Any) -> str:
    """Which library's frame to make: a name, or the library of the given frame."""
    if isinstance(like, str):
        if like not in LIBRARIES:
            raise UsageError(f"like = {like!r} is not known; it must be one of {', '.join(LIBRARIES)} or a frame")
        return like
    implementation = str(open_frame(like).implementation)
    return implementation if implementation in LIBRARIES else "pandas"


def build_frame(arrays: Mapping[str, Any], columns: Sequence[Column], like: Any) -> Any:
    """A native frame of arrow arrays; types follow the schema, never the values drawn."""
    import pyarrow as pa

    library = library_of(like)
    table = pa.table(dict(arrays))
    if library == "polars":
        import polars as pl

        native: Any = pl.from_arrow(table)
    elif library == "pandas":
        native = _to_pandas(table, columns)
    else:
        native = table
    return native if isinstance(like, str) else _same_types(native, like, columns)


def _to_pandas(table: Any, columns: Sequence[Column]) -> Any:
    import pandas as pd

    nullable = {"int64": pd.Int64Dtype(), "bool": pd.BooleanDtype()}
    series = {}
    for column in columns:
        one = table.select([column.name])
        gaps = bool(getattr(column, "missing", False))
        types = nullable.get(str(one.schema.field(0).type)) if gaps else None
        mapper = (lambda _, wanted=types: wanted) if types is not None else None
        series[column.name] = one.to_pandas(date_as_object=False, types_mapper=mapper)[column.name]
    return pd.DataFrame(series)


def _same_types(native: Any, like: Any, columns: Sequence[Column]) -> Any:
    """Integer widths and date types as in the frame that came in, where they can hold what was drawn."""
    import narwhals as nw

    frame, model = nw.from_native(native), open_frame(like)
    for column in columns:
        if not isinstance(column, Integer | Moment | Labelled) or column.name not in model.columns:
            continue
        wanted, have = model.schema[column.name], frame.schema[column.name]
        whole = wanted.is_integer() and have.is_integer()
        alike = whole or (wanted.is_temporal() and have.is_temporal())
        if wanted == have or not alike or (whole and not _holds(wanted, column)):
            continue
        try:
            frame = frame.with_columns(nw.col(column.name).cast(wanted))
        except Exception:  # a type too narrow for the declared domain keeps the wider one
            continue
    return frame.to_native()


def _holds(kind: Any, column: Integer | Moment | Labelled) -> bool:
    """Whether an integer type holds every number of the declared domain; a cast would wrap what it does not hold."""
    import numpy as np

    numbers = column.labels if isinstance(column, Labelled) else (column.low, column.high)
    held = np.iinfo(str(kind).lower())
    return all(held.min <= int(number) <= held.max for number in numbers)
