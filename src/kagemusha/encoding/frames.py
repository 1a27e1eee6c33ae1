"""Any frame in, the same frame out, with the columns that formulas work out.

Narwhals names it, arrow carries the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, FloatArray
from kagemusha.columns import Measured
from kagemusha.columns.axis import ROUND
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.values import plains
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.schema import Column, Schema
from kagemusha.schema.formulas import Formula, columns_of, evaluate, solve


def complete(schema: Schema, cells: Mapping[str, Cells], rng: np.random.Generator) -> dict[str, Cells]:
    """The cells with those of the columns that follow from others by a formula."""
    found = dict(cells)
    for target, name in schema.working_order:
        formula = schema.formulas[name]
        used = {other: floats(schema, found, other) for other in columns_of(formula) if other != target}
        if name == target:
            values = evaluate(formula, used)
        else:
            values = solve(formula, target, floats(schema, found, name), used, rng)
        rows = len(next(iter(found.values())).codes)
        found[target] = schema.axis(target).on_lattice(np.broadcast_to(values, rows))
    return found


def floats(schema: Schema, cells: Mapping[str, Cells], name: str) -> FloatArray:
    """The numbers of a column as formulas count them."""
    return schema.axis(name).floats(cells[name])


def worked_out(schema: Schema, formula: Formula, cells: Mapping[str, Cells]) -> FloatArray:
    """What a formula says of the values of other columns."""
    return evaluate(formula, {other: floats(schema, cells, other) for other in columns_of(formula)})


def formula_codes(schema: Schema, name: str, cells: Mapping[str, Cells]) -> Codes:
    """Codes of a column that a formula works out, from the raw values of the columns it uses, row by row."""
    values = np.round(worked_out(schema, schema.formulas[name], cells), ROUND)
    missing = ~np.isfinite(values)
    return to_codes(schema.axis(name), np.where(missing, 0.0, values), missing)


def formula_inputs(schema: Schema) -> tuple[Measured, ...]:
    """The columns whose raw values the formulas of modelled columns need."""
    used = {other for name in schema.replaced for other in columns_of(schema.formulas[name])}
    return tuple(axis for c in schema.columns if c.name in used and (axis := c.axis) is not None)


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
    names = tuple(column.name for column in schema.table_columns)
    if len(present) != len(found):
        raise DataError(f"{where} has two columns of the same name; every name must be its own")
    lacking = [name for name in names if name not in present]
    if lacking:
        raise SchemaError(f"{where} lacks {_some(lacking)} that the schema declares")
    declared = set(names)
    extra = [name for name in found if name not in declared]
    if extra:
        raise SchemaError(
            f"{where} has {_some(extra)} that the schema does not declare; "
            'declare every column, at least with kind = "drop"'
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"column {names[0]!r}{more}"


def column_values(frame: Any, name: str) -> Any:
    """One column as an arrow array.

    As plain values if it holds Python objects, whose common type would depend on each.
    """
    import pyarrow as pa

    series = frame[name]
    native = series.to_native()
    dtype = str(getattr(native, "dtype", ""))
    if dtype.lower() == "object":
        texts = _texts(native) if dtype == "object" else None
        return plains(series.to_list()) if texts is None else texts
    if dtype == "category" and str(native.cat.categories.dtype) == "object":
        texts, codes = _texts(native.cat.categories), native.cat.codes.to_numpy()
        if texts is None:
            return plains(series.to_list())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
    values = None
    with suppress(Exception):
        values = series.to_arrow()
    return plains(series.to_list()) if values is None or is_foreign(values.type) else values


def is_foreign(kind: Any) -> bool:
    """Whether a type of arrow is a library's own: pandas' periods, and the intervals that `cut` makes."""
    import pyarrow as pa

    return isinstance(kind.value_type if pa.types.is_dictionary(kind) else kind, pa.BaseExtensionType)


def _texts(objects: Any) -> Any:
    """An arrow array of pandas objects that are texts and gaps alone, the usual case; None of any others."""
    import pyarrow as pa

    with suppress(Exception):  # `plains` would give the same, slowly
        return pa.array(objects.to_numpy(), type=pa.string(), from_pandas=True)
    return None


def library_of(like: Any) -> str:
    """Which library's frame to make: a name, or the library of the given frame."""
    if isinstance(like, str):
        if like not in LIBRARIES:
            raise UsageError(f"like = {like!r} is not known; it must be one of {', '.join(LIBRARIES)} or a frame")
        return like
    implementation = str(open_frame(like).implementation)
    return implementation if implementation in LIBRARIES else "pandas"


def build_frame(arrays: Mapping[str, Any], columns: Sequence[Column], like: Any, held: str | None = None) -> Any:
    """A native frame of arrow arrays; types follow from the schema alone, the library from `like`.

    `held` says how pandas holds the columns, if not as its plain types.
    """
    import pyarrow as pa

    library = library_of(like)
    table = pa.table(dict(arrays))
    if library == "polars":
        import polars as pl

        frame = pl.DataFrame(table)
        ordered = {c.name: table[c.name].chunk(0).dictionary.to_pylist() for c in columns if c.dtype == "ordered"}
        return frame.with_columns(pl.col(name).cast(pl.Enum(labels)) for name, labels in ordered.items())
    return _to_pandas(table, columns, held) if library == "pandas" else table


def _to_pandas(table: Any, columns: Sequence[Column], held: str | None) -> Any:
    import pandas as pd

    mappers = {"pyarrow": pd.ArrowDtype, "nullable": lambda kind: _nullable(kind) or _strings(kind)}
    series = {}
    for column in columns:
        one = table.select([column.name])
        mapper = _strings if column.dtype == "string" else _nullable_whole if column.may_lack else None
        mapper = mapper if held is None or column.dtype in ("category", "ordered") else mappers[held]
        dates = column.dtype == "date32"
        series[column.name] = one.to_pandas(date_as_object=dates, types_mapper=mapper)[column.name]
    return pd.DataFrame(series)


def _strings(kind: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    return pd.StringDtype() if pa.types.is_string(kind) else None


def _nullable_whole(kind: Any) -> Any:
    """The pandas type that holds gaps beside whole numbers and booleans."""
    import pyarrow as pa

    return None if pa.types.is_floating(kind) else _nullable(kind)


def _nullable(kind: Any) -> Any:
    """The pandas type of its own that holds gaps beside numbers and booleans."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    name = {"float": "Float32", "double": "Float64"}.get(str(kind), str(kind).title().replace("Uint", "UInt"))
    return pd.api.types.pandas_dtype(name)
