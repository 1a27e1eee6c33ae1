"""The values of one column as rules and formulas see them: numbers on the column's axis, or one of its named codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.encoding.bins import Span, draw, to_codes
from kagemusha.schema import Label, Labelled, Measured, Modelled, Moment, Real, Schema
from kagemusha.schema.formulas import columns_of, evaluate, solve
from kagemusha.schema.labels import text_of

A_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "us": 86_400_000_000}
"""Steps of the lattice of each unit that a day has."""

ROUND = 9
"""Formulas are worked out to so many decimals, so that 0.3 − 0.1 is 0.2."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A column's values.

    The codes of labels are theirs; those of measured columns are −1 for a number, else which special value it is, or the
    number of special values for a missing one.
    """

    codes: IntArray
    numbers: NDArray[Any]
    """Places on the column's axis; of no meaning where there is no number."""

    def __getitem__(self, rows: Any) -> Cells:
        return Cells(self.codes[rows], self.numbers[rows])

    def put(self, rows: Any, others: Cells) -> None:
        """Exchange some rows, in place."""
        self.codes[rows] = others.codes
        self.numbers[rows] = others.numbers

    def floats(self, column: Measured) -> FloatArray:
        """The numbers, moments in days since 1970, NaN where there is none."""
        scale = A_DAY.get(column.unit, 1) if isinstance(column, Moment) else 1
        return np.where(self.codes < 0, self.numbers / scale, np.nan)


def draw_cells(
    column: Modelled,
    codes: IntArray,
    *,
    rng: np.random.Generator,
    within: Span | None = None,
    shape: FloatArray | None = None,
) -> Cells:
    """Values of codes: inside their bins by a `shape` (see `bins.draw`), in the part `within` them uniformly."""
    if not isinstance(column, Measured):
        return Cells(codes, np.zeros(len(codes)))
    extra = codes - column.ordinary
    numbers = draw(column, np.where(extra >= 0, 0, codes), rng=rng, within=within, shape=shape)
    return Cells(np.where(extra >= 0, extra, -1), numbers)


def complete(schema: Schema, cells: Mapping[str, Cells], rng: np.random.Generator) -> dict[str, Cells]:
    """The cells with those of the columns that follow from others by a formula."""
    found = dict(cells)
    for target, name in schema.working_order:
        column, formula = schema[target], schema.formulas[name]
        assert isinstance(column, Measured)
        used = {other: _floats(schema, found, other) for other in columns_of(formula) if other != target}
        if name == target:
            values = evaluate(formula, used)
        else:
            values = solve(formula, target, _floats(schema, found, name), used, rng)
        found[target] = on_lattice(column, np.broadcast_to(values, len(next(iter(found.values())).codes)))
    return found


def _floats(schema: Schema, cells: Mapping[str, Cells], name: str) -> FloatArray:
    column = schema[name]
    assert isinstance(column, Measured)
    return cells[name].floats(column)


def on_lattice(column: Measured, values: FloatArray) -> Cells:
    """Worked-out numbers (moments in days) as values that the column can show; NaN becomes missing."""
    missing = ~np.isfinite(values)
    numbers = np.where(missing, 0.0, np.round(values, ROUND))
    codes = np.where(missing, len(column.special), -1)
    if isinstance(column, Real):
        decimals = (
            column.decimals if column.decimals is not None else 6 if column.open_fields else column.shown_decimals
        )
        return Cells(codes, np.round(numbers, decimals) + 0.0)
    scale = A_DAY.get(column.unit, 1) if isinstance(column, Moment) else 1
    return Cells(codes, np.rint(numbers * scale).astype(np.int64))


def arrow_of(column: Modelled, cells: Cells) -> Any:
    """The arrow array of a column's values, in the type and format of the schema."""
    if isinstance(column, Labelled):
        return _labels(column, cells.codes)
    assert isinstance(column, Measured)
    plain = _measured(column, np.where(cells.codes < 0, cells.numbers, 0), cells.codes >= 0)
    return _with_special(column, plain, cells.codes) if column.special else plain


def _with_special(column: Measured, plain: Any, codes: IntArray) -> Any:
    """The same array with special values where they belong; texts among numbers make a column of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    special: list[Any] = list(column.special)
    if not isinstance(column, Moment) and all(isinstance(value, int | float) for value in special):
        kind = plain.type
        if pa.types.is_integer(kind) and not all(float(value).is_integer() for value in special):
            kind = pa.float64()
        plain, named = plain.cast(kind), pa.array([*map(float, special), None], type=pa.float64()).cast(kind)
    else:
        plain = plain if pa.types.is_string(plain.type) else _as_texts(column, plain)
        named = pa.array([*map(str, special), None], type=pa.string())
    chosen = named.take(pa.array(np.where(codes < 0, len(special), codes)))
    return pc.if_else(pa.array(codes < 0), plain, chosen)


def _as_texts(column: Measured, numbers: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, Real):
        return pa.array([_text(n, column.shown_decimals) for n in numbers.to_pylist()], type=pa.string())
    return numbers.cast(pa.string())


def _text(number: float | None, decimals: int) -> str | None:
    if number is None:
        return None
    shown = f"{number:.{decimals}f}"
    return shown if float(shown) == number else repr(number)


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


def _measured(column: Measured, numbers: NDArray[Any], absent: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    if not isinstance(column, Moment):
        drawn = pa.array(numbers, mask=absent)
        return drawn if column.dtype is None else drawn.cast(column.dtype)
    moments = numbers.astype(np.int64).astype(f"M8[{column.unit}]")
    if column.format is None:
        kind = arrow_type(column.dtype or ("date32" if column.kind == "date" else "timestamp[us]"))
        return pa.array(moments.astype("M8[us]"), mask=absent).cast(kind)
    distinct, where = np.unique(moments, return_inverse=True)
    texts = [moment.strftime(column.format) for moment in distinct.astype("M8[us]").astype(object)]
    indices = pa.array(where.astype(np.int64), mask=absent)
    return pa.array(texts, type=pa.string()).take(indices)


def formula_codes(schema: Schema, name: str, cells: Mapping[str, Cells]) -> Codes:
    """Codes of a column that a formula works out, from the raw values of the columns it uses, row by row."""
    column, formula = schema[name], schema.formulas[name]
    assert isinstance(column, Measured)
    used = {other: _floats(schema, cells, other) for other in columns_of(formula)}
    values = np.round(evaluate(formula, used), ROUND)
    missing = ~np.isfinite(values)
    return to_codes(column, np.where(missing, 0.0, values), missing)


def formula_inputs(schema: Schema) -> tuple[Measured, ...]:
    """The columns whose raw values the formulas of modelled columns need."""
    used = {other for name in schema.replaced for other in columns_of(schema.formulas[name])}
    return tuple(c for c in schema.columns if c.name in used and isinstance(c, Measured))
