"""Whether rows obey the rules of their schema, judged by the values a person would see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.columns.cells import Cells
from kagemusha.encoding.encoder import Encoder
from kagemusha.encoding.frames import floats, worked_out
from kagemusha.schema import Schema
from kagemusha.schema.conditions import Both, Compare, Condition, Listed, Missing, Not
from kagemusha.schema.constraints import Determines, Equation, Inequality, Law, Logical
from kagemusha.schema.formulas import columns_of
from kagemusha.schema.truth import listed_codes

SLACK = 1e-9
"""What sums of floating-point numbers may be off by."""

Truth = NDArray[np.bool_]


def violations(frame: Any, schema: Schema) -> dict[str, int]:
    """How many rows of a table break each rule that is in force. Of a private table this is private."""
    cells = with_worked_out(schema, Encoder(schema).read(frame))
    rules = [rule for rule in schema.constraints if not rule.guess]
    return {rule.rule: int((~holds(schema, rule.law, cells)).sum()) for rule in rules}


def with_worked_out(schema: Schema, cells: Mapping[str, Cells]) -> dict[str, Cells]:
    """The cells with those of columns that are worked out of others and that the table has not itself."""
    found = dict(cells)
    for name, formula in schema.formulas.items():
        if name not in found and set(columns_of(formula)) <= set(found):
            found[name] = schema.axis(name).on_lattice(worked_out(schema, formula, found))
    return found


def holds(schema: Schema, law: Law, cells: Mapping[str, Cells]) -> Truth:
    """For each row, whether a law holds."""
    if isinstance(law, Logical):
        return _truth(schema, law.condition, cells)
    if isinstance(law, Inequality):
        total = sum((factor * floats(schema, cells, name) for name, factor in law.factors.items()), np.zeros(1))
        bound = law.bound + (-SLACK if law.strict else SLACK)
        return np.asarray(np.isnan(total) | (total <= bound))
    if isinstance(law, Equation):
        return _equal(schema, law, cells)
    return _one_partner(schema, law, cells)


def _truth(schema: Schema, condition: Condition, cells: Mapping[str, Cells]) -> Truth:
    if isinstance(condition, Not):
        return ~_truth(schema, condition.part, cells)
    if isinstance(condition, Compare | Missing):
        column, mine = schema.modelled_column(condition.column), cells[condition.column]
        if isinstance(condition, Missing):
            return np.asarray(column.lacking(mine) != condition.negated)
        return column.truth(mine, condition.operator, condition.value)
    if isinstance(condition, Listed):
        columns = [schema.modelled_column(name) for name in condition.columns]
        sizes = [column.size for column in columns]
        lines = np.array(listed_codes(columns, condition), dtype=np.int64).reshape(-1, len(sizes))
        allowed = np.unique(np.ravel_multi_index(tuple(lines.T), sizes))
        return np.isin(np.ravel_multi_index(tuple(cells[n].codes for n in condition.columns), sizes), allowed)
    combine = np.logical_and if isinstance(condition, Both) else np.logical_or
    truth: Truth = combine.reduce([_truth(schema, part, cells) for part in condition.parts])
    return truth


def _equal(schema: Schema, law: Equation, cells: Mapping[str, Cells]) -> Truth:
    own = cells[law.column]
    values = np.broadcast_to(worked_out(schema, law.formula, cells), len(own.codes))
    wanted = schema.axis(law.column).on_lattice(values)
    unknown = (own.codes >= 0) | (wanted.codes >= 0)
    return np.asarray(unknown | (np.abs(own.numbers - wanted.numbers) <= SLACK * np.maximum(1, np.abs(own.numbers))))


def _one_partner(schema: Schema, law: Determines, cells: Mapping[str, Cells]) -> Truth:
    """Whether a row has the partner that most rows with its combination have."""
    names = (*law.given, law.column)
    codes = np.stack([cells[name].codes for name in names], axis=1)
    lines, where, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    _, of_line = np.unique(lines[:, :-1], axis=0, return_inverse=True)
    order = np.lexsort((-counts, of_line.ravel()))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = np.diff(of_line.ravel()[order]) != 0
    best = np.zeros(len(lines), dtype=np.bool_)
    best[order[first]] = True
    return np.asarray(best[where.ravel()])
