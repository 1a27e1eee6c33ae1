"""Doubles of persons with everything below: the models of several tables, drawn one after the other.

Persons come from their own model, and with them how many rows each has in every table below. Those rows are drawn place
by place, each from the model of its table given its parent, its place and the row before it, exactly. Keys are fresh
and fit by construction; an order column is the first value and the gaps after it, so its values rise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.certificate.certificate import Certificate
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.encoding.frames import build_frame
from kagemusha.errors import UsageError
from kagemusha.models.model import Model
from kagemusha.models.steps import Steps
from kagemusha.progress import Progress, silent
from kagemusha.schema import Modelled
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import View, view_of


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


@dataclass(frozen=True, eq=False)
class RelatedModel:
    """A model per table, with the schema of all and one certificate. All of it may be published."""

    schema: Related
    models: Mapping[str, Model]
    like: Any = "pandas"

    @property
    def certificate(self) -> Certificate:
        """What was promised for all tables together."""
        return self.models[self.schema.root.name].certificate

    @property
    def rows(self) -> int:
        """About how many persons there were."""
        return self.models[self.schema.root.name].rows

    def sample(
        self,
        persons: int | None = None,
        *,
        seed: int | None = None,
        where: str | None = None,
        like: Any = None,
        progress: Progress = silent,
    ) -> dict[str, Any]:
        """Synthetic tables by name: so many persons, and the rows that belong to them.

        `where` is a condition on the persons' own columns and on how many rows they have, such as "sex = 'F'".
        """
        if persons is not None and persons < 1:
            raise UsageError(f"persons must be at least 1, got {persons}")
        drawn = self.draw(persons, rng=np.random.default_rng(seed), where=where, progress=progress)
        return self.frames(drawn, self.like if like is None else like)

    def draw(
        self,
        persons: int | None = None,
        *,
        rng: np.random.Generator,
        where: str | None = None,
        progress: Progress = silent,
    ) -> dict[str, Drawn]:
        """Values and codes of all tables, parents first."""
        found: dict[str, Drawn] = {}
        for at, table in enumerate(self.schema):
            progress(f"drawing {table.name}", at / len(self.schema.tables))
            view = view_of(self.schema, table)
            if table.parent is None:
                found[table.name] = self._persons(table, view, persons, where, rng)
            else:
                found[table.name] = self._below(table, view, found, rng)
        return found

    def _persons(
        self, table: Table, view: View, persons: int | None, where: str | None, rng: np.random.Generator
    ) -> Drawn:
        model = self.models[table.name]
        condition = model.condition(where)
        codes = model.sample_codes(persons, rng=rng, where=condition.evidence)
        cells = model.cells(codes, condition, rng=rng)
        columns = (*view.own, *view.numbers)
        return Drawn(cells, {c.name: codes_of(c, cells[c.name]) for c in columns}, np.arange(len(codes)))

    def _below(self, table: Table, view: View, found: Mapping[str, Drawn], rng: np.random.Generator) -> Drawn:
        assert table.parent is not None
        parent = found[table.parent]
        place = [c.name for c in view_of(self.schema, self.schema[table.parent]).numbers]
        names = [child.name for child in self.schema.children(self.schema[table.parent])]
        counts = np.asarray(parent.cells[place[names.index(table.name)]].numbers, dtype=np.int64)
        context: list[Codes] = []
        for source, column, _ in view.context:
            rows = np.arange(parent.rows)
            for step in self.schema.above(table):
                if step.name == source:
                    break
                rows = found[step.name].parent[rows]
            context.append(found[source].codes[column][rows])
        steps = Steps.of(self.models[table.name], table, view)
        rows, codes, cells = steps.draw(context, counts, rng)
        columns = (*view.own, *view.numbers)
        shown = {c.name: codes[:, at].astype(np.int64) for at, c in enumerate(columns)}
        return Drawn(cells, shown, rows)

    def frames(self, drawn: Mapping[str, Drawn], like: Any) -> dict[str, Any]:
        """Tables in the library of `like`, with fresh keys."""
        names: dict[str, Any] = {}
        found = {}
        for table in self.schema:
            own = drawn[table.name]
            kept = [column for column in table.schema.table_columns if column.in_doubles]
            arrays = {c.name: c.output(own.cells.get(c.name), 0, own.rows) for c in kept}
            if table.names_rows in arrays:
                names[table.name] = arrays[table.names_rows]
            if table.parent is not None and table.key in arrays:
                if table.parent not in names:
                    del arrays[table.key]
                    kept = [column for column in kept if column.name != table.key]
                else:
                    arrays[table.key] = names[table.parent].take(own.parent)
            found[table.name] = build_frame(arrays, kept, like)
        return found

    def with_certificate(self, certificate: Certificate) -> RelatedModel:
        """The same models under a certificate that says more."""
        bound = {name: replace(model, certificate=certificate) for name, model in self.models.items()}
        return replace(self, models=bound)


def codes_of(column: Modelled, cells: Cells) -> Codes:
    """The codes of values."""
    axis = column.axis
    if axis is None:
        return cells.codes
    codes = to_codes(axis, cells.numbers, axis.lacking(cells)).astype(np.int64)
    special = (cells.codes >= 0) & (cells.codes < len(axis.special))
    codes[special] = axis.n_values + cells.codes[special]
    return codes

