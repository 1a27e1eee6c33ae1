"""Columns that follow from others by a formula: worked out row by row, from raw values and for doubles."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kagemusha.arrays import Codes, FloatArray
from kagemusha.columns import Measured
from kagemusha.columns.axis import ROUND
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.schema import Schema
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
