"""Rows of several tables that belong together, drawn table by table, parents first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.models.doubles import Doubles
from kagemusha.models.steps import Steps
from kagemusha.progress import Progress, silent
from kagemusha.rules.conditions import Group
from kagemusha.schema import Modelled
from kagemusha.schema.across import ruled
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import NEXT, View, number, view_of


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows of one table: their values, the codes that the tables below are modelled given, and the parent of each."""

    cells: Mapping[str, Cells]
    codes: Mapping[str, Codes]
    parent: IntArray

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.parent)


def draw_tables(
    schema: Related,
    doubles: Mapping[str, Doubles],
    persons: int,
    rng: np.random.Generator,
    *,
    groups: Sequence[Group] = (),
    progress: Progress = silent,
) -> dict[str, Drawn]:
    """So many persons (under conditions on them) and what is below, of all tables whose models are there."""
    found: dict[str, Drawn] = {}
    for at, table in enumerate(schema):
        progress(f"drawing {table.name}", at / len(schema.tables))
        view = view_of(schema, table)
        if table.parent is None:
            found[table.name] = _persons(view, doubles[table.name], persons, groups, rng)
        elif table.parent in found and f"{table.name}{NEXT}" in doubles:
            steps = Steps.of(doubles[table.name], doubles[f"{table.name}{NEXT}"], schema, table, view)
            rows, codes, cells = steps.draw(*parents(schema, table, view, found), rng, _above(schema, table, found))
            columns = (*view.own, *view.numbers)
            shown = {c.name: codes[:, i].astype(np.int64) for i, c in enumerate(columns)}
            found[table.name] = Drawn(cells, shown, rows)
    return found


def _persons(view: View, doubles: Doubles, persons: int, groups: Sequence[Group], rng: np.random.Generator) -> Drawn:
    codes = doubles.codes(persons, rng=rng, where={group.clique: group.weights() for group in groups})
    cells = doubles.cells(codes, rng=rng, groups=groups)
    columns = (*view.own, *view.numbers)
    return Drawn(cells, {c.name: codes_of(c, cells[c.name]) for c in columns}, np.arange(len(codes)))


def parents(schema: Related, table: Table, view: View, found: Mapping[str, Drawn]) -> tuple[list[Codes], IntArray]:
    """What the rows of a table are drawn given: columns per row of the parent, and how many rows each has."""
    assert table.parent is not None
    parent = found[table.parent]
    context: list[Codes] = []
    for source, column, _ in view.context:
        context.append(found[source].codes[column][_rows_above(schema, table, source, found)])
    return context, np.asarray(parent.cells[number(table.name)].numbers, dtype=np.int64)


def _above(schema: Related, table: Table, found: Mapping[str, Drawn]) -> dict[str, Cells]:
    """The values of tables above that a table's rules speak of, row by row of its parent."""
    rules = ruled(schema, table)
    return {
        name: found[source].cells[column][_rows_above(schema, table, source, found)]
        for name, (source, column) in ({} if rules is None else rules.above).items()
    }


def _rows_above(schema: Related, table: Table, source: str, found: Mapping[str, Drawn]) -> IntArray:
    """For each row of a table's parent, its row in a table above."""
    above = schema[table.parent or ""]
    rows = np.arange(found[above.name].rows)
    while above.name != source:
        rows = found[above.name].parent[rows]
        above = schema[above.parent or ""]
    return rows


def codes_of(column: Modelled, cells: Cells) -> Codes:
    """The codes of values."""
    axis = column.axis
    if axis is None:
        return cells.codes
    codes = to_codes(axis, cells.numbers, axis.lacking(cells)).astype(np.int64)
    special = (cells.codes >= 0) & (cells.codes < len(axis.special))
    codes[special] = axis.n_values + cells.codes[special]
    return codes
