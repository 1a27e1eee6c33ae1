"""Rows of a table below, drawn place by place from the field of its steps given what is known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.cells import Cells
from kagemusha.encoding.frames import complete
from kagemusha.encoding.rules import holds
from kagemusha.errors import DataError
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.models.doubles import Doubles
from kagemusha.models.moments import Moments, Rows, apart
from kagemusha.schema import Modelled
from kagemusha.schema.across import Ruled, ruled
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import View, lag_clique

TRIES = 60
"""Times that rows which break a rule are drawn again."""


@dataclass(frozen=True, eq=False)
class Laws:
    """What rows of a table obey: rules of the table and of those above, and formulas that must have a value."""

    table: Table
    ruled: Ruled | None

    def broken(self, cells: Mapping[str, Cells], above: Mapping[str, Cells], parents: IntArray) -> IntArray:
        """Which of some rows break any; `above` holds values row by row of the parent table."""
        bad = np.zeros(len(parents), dtype=np.bool_)
        for target, _ in self.table.schema.working_order:
            column = self.table.schema.axis(target)
            if not column.missing:
                bad |= cells[target].codes == len(column.special)
        if self.ruled is not None:
            seen = {name: cells[column] for name, column in self.ruled.own.items()}
            seen |= {name: above[name][parents] for name in self.ruled.above}
            for rule in self.ruled.rules:
                bad |= ~holds(self.ruled.schema, rule.law, seen)
        return np.flatnonzero(bad)


@dataclass(frozen=True, eq=False)
class Steps:
    """The field of one table's steps, and what it needs to draw values."""

    rows: Doubles
    """Of the rows by themselves."""
    first: MarkovGenerator
    """The same as a field."""
    generator: MarkovGenerator
    """Of a row given the one before."""
    table: Table
    view: View
    laws: Laws

    @classmethod
    def of(cls, rows: Doubles, following: Doubles, schema: Related, table: Table, view: View) -> Steps:
        """From the two models of a table; a `DataError` if they hold no field."""
        laws = Laws(table, ruled(schema, table))
        return cls(rows, _field(rows.generator), _field(following.generator), table, view, laws)

    @cached_property
    def _shapes(self) -> Mapping[str, FloatArray]:
        return self.rows.shapes

    def draw(
        self, context: Sequence[Codes], counts: IntArray, rng: np.random.Generator, above: Mapping[str, Cells]
    ) -> tuple[IntArray, IntArray, dict[str, Cells]]:
        """So many rows of each parent: whose each is, codes of own columns and numbers, and values; parent by parent.

        `context` holds the columns of the parents that stand in the view, `above` the values that rules speak of.
        """
        columns: list[Modelled] = [*self.view.own, *self.view.numbers]
        whose: list[IntArray] = []
        codes: list[IntArray] = []
        cells: list[dict[str, Cells]] = []
        last = np.zeros((len(counts), len(self.view.own)), dtype=np.int64)
        last[:] = [column.size - 1 for _, column in self.view.previous]
        moment = np.zeros(len(counts))

        def drawn(there: IntArray, place: int) -> tuple[IntArray, FloatArray, dict[str, Cells]]:
            known = self._known.known([c[there] for c in context], np.full(len(there), place))
            moments = moment[there]
            if self._moments is not None:
                of = self._moments
                moments = of.first(known, rng) if place == 1 else of.after(known, moments, rng)
            rows = np.hstack([last[there], known])
            self._rest.draw(rows, rng)
            rows = rows[:, len(self.view.previous) :]
            shown = self._shown(rows, columns, rng)
            own = rows[:, [self.first.field.domain.axis(c.name) for c in columns]]
            return np.hstack([own, shown]), moments, self._cells(columns, shown, moments, rng)

        for place in range(1, int(counts.max(initial=0)) + 1):
            there = np.flatnonzero(counts >= place)
            found, moments, values = drawn(there, place)
            bad = self.laws.broken(values, above, there)
            for _ in range(TRIES):
                if not len(bad):
                    break
                again, moments[bad], fresh = drawn(there[bad], place)
                found[bad] = again
                for name, own in values.items():
                    own.put(bad, fresh[name])
                bad = bad[self.laws.broken(fresh, above, there[bad])]
            kept = np.setdiff1d(np.arange(len(there)), bad)  # a row that no try has made obey is left out
            there = there[kept]
            last[there] = found[kept, : len(self.view.own)]
            moment[there] = moments[kept]
            whose.append(there)
            codes.append(found[kept, len(columns) :])
            cells.append({name: own[kept] for name, own in values.items()})
        if not whose:
            nobody = np.zeros(0, dtype=np.int64)
            none = np.zeros((0, len(columns)), dtype=np.int64)
            return nobody, none, self._cells(columns, none, np.zeros(0), rng)
        parents = np.concatenate(whose)
        order = np.argsort(parents, kind="stable")
        together = {name: Cells.joined([some[name] for some in cells])[order] for name in cells[0]}
        return parents[order], np.concatenate(codes)[order], together

    @cached_property
    def _known(self) -> Rows:
        return Rows(self.first, self.view)

    @cached_property
    def _moments(self) -> Moments | None:
        if self.view.gap is None or self.table.order is None:
            return None
        axis = self.table.schema.axis(self.table.order)
        lag = apart(self.generator.field, lag_clique(self.view, axis.name))
        level = apart(self.generator.field, (axis.name,))
        return Moments(self._known, axis, self.view.gap, lag, level, self._shapes.get(axis.name))

    @cached_property
    def _rest(self) -> ConditionalField:
        before = [column.name for _, column in self.view.previous]
        return ConditionalField(self.generator.field, self._known.with_groups(self.view.given, *self._order) + before)

    @property
    def _order(self) -> tuple[str, ...]:
        """The columns that are drawn before all others."""
        return () if self.view.gap is None else self._known.order

    def _shown(self, rows: IntArray, columns: Sequence[Modelled], rng: np.random.Generator) -> IntArray:
        """Codes of own columns; what nobody listed becomes a listed category."""
        domain = self.first.domain
        seen = self.rows.listed(rows[:, : len(domain)], rng)
        return seen[:, [domain.axis(column.name) for column in columns]]

    def _cells(
        self, columns: Sequence[Modelled], codes: IntArray, moments: FloatArray, rng: np.random.Generator
    ) -> dict[str, Cells]:
        found = {
            column.name: column.draw(codes[:, at], rng=rng, shape=self._shapes.get(column.name))
            for at, column in enumerate(columns)
        }
        if self.table.order is not None:
            found[self.table.order] = Cells(np.full(len(moments), -1), moments.astype(np.int64))
        return complete(self.table.schema, found, rng) if self.table.schema.working_order else found


def _field(generator: Generator) -> MarkovGenerator:
    if not isinstance(generator, MarkovGenerator):
        raise DataError("the model of a table below holds no Markov field, so nothing can be drawn given what is known")
    return generator
