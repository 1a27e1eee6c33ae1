"""Rows of a table below, drawn place by place from the field of its steps given what is known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.cells import Cells
from kagemusha.errors import DataError
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.models.doubles import Doubles
from kagemusha.models.moments import Moments, Rows, apart
from kagemusha.schema import Modelled
from kagemusha.schema.related import Table
from kagemusha.schema.views import View, lag_clique


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

    @classmethod
    def of(cls, rows: Doubles, following: Doubles, table: Table, view: View) -> Steps:
        """From the two models of a table; a `DataError` if they hold no field."""
        return cls(rows, _field(rows.generator), _field(following.generator), table, view)

    @cached_property
    def _shapes(self) -> Mapping[str, FloatArray]:
        return self.rows.shapes

    def draw(
        self, context: Sequence[Codes], counts: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray, dict[str, Cells]]:
        """So many rows of each parent: whose each is, codes of own columns and numbers, and values; parent by parent.

        `context` holds the columns of the parents that stand in the view.
        """
        columns: list[Modelled] = [*self.view.own, *self.view.numbers]
        whose: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        codes: list[IntArray] = [np.zeros((0, len(columns)), dtype=np.int64)]
        moments: list[FloatArray] = [np.zeros(0)]
        last = np.zeros((len(counts), len(self.view.own)), dtype=np.int64)
        last[:] = [column.size - 1 for _, column in self.view.previous]
        moment = np.zeros(len(counts))
        for place in range(1, int(counts.max(initial=0)) + 1):
            there = np.flatnonzero(counts >= place)
            known = self._known.known([c[there] for c in context], np.full(len(there), place))
            if self._moments is not None:
                moments_of = self._moments
                drawn = moments_of.first(known, rng) if place == 1 else moments_of.after(known, moment[there], rng)
                moment[there] = drawn
            rows = np.hstack([last[there], known])
            self._rest.draw(rows, rng)
            rows = rows[:, len(self.view.previous) :]
            own = rows[:, [self.first.field.domain.axis(c.name) for c in columns]]
            last[there] = own[:, : len(self.view.own)]
            whose.append(there)
            codes.append(self._shown(rows, columns, rng))
            moments.append(moment[there])
        parents = np.concatenate(whose)
        order = np.argsort(parents, kind="stable")
        together = np.concatenate(codes)[order]
        return parents[order], together, self._cells(columns, together, np.concatenate(moments)[order], rng)

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
        return found


def _field(generator: Generator) -> MarkovGenerator:
    if not isinstance(generator, MarkovGenerator):
        raise DataError("the model of a table below holds no Markov field, so nothing can be drawn given what is known")
    return generator
