"""Rows of a table below, drawn place by place from the field of its steps given what is known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.errors import DataError
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.models.model import Model
from kagemusha.schema import Modelled
from kagemusha.schema.related import Table
from kagemusha.schema.views import View


@dataclass(frozen=True, eq=False)
class Steps:
    """The field of one table's steps, and what it needs to draw values."""

    model: Model
    generator: MarkovGenerator
    table: Table
    view: View

    @classmethod
    def of(cls, model: Model, table: Table, view: View) -> Steps:
        """From a model; a `DataError` if it holds no field."""
        return cls(model, _field(model.generator), table, view)

    @cached_property
    def _shapes(self) -> Mapping[str, FloatArray]:
        return self.model.shapes

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
            rows = self._known(context, there, place, last[there])
            moment[there] = self._moments(rows, place, moment[there], rng)
            self._rest.draw(rows, rng)
            own = rows[:, [self.generator.field.domain.axis(c.name) for c in columns]]
            last[there] = own[:, : len(self.view.own)]
            whose.append(there)
            codes.append(self._shown(rows, columns, rng))
            moments.append(moment[there])
        parents = np.concatenate(whose)
        order = np.argsort(parents, kind="stable")
        together = np.concatenate(codes)[order]
        return parents[order], together, self._cells(columns, together, np.concatenate(moments)[order], rng)

    def _known(self, context: Sequence[Codes], there: IntArray, place: int, last: IntArray) -> IntArray:
        """Lines with what is known of the rows at one place; the rest is 0."""
        domain = self.generator.field.domain
        rows = np.zeros((len(there), len(domain)), dtype=np.int64)
        known = [column[there] for column in context]
        if self.view.position is not None:
            known.append(np.full(len(there), to_codes(self.view.position, np.array([place]), np.array([False]))[0]))
        known += list(last.T)
        for name, column in zip(self.view.given, known, strict=True):
            self._put(rows, name, column)
        return rows

    def _put(self, rows: IntArray, name: str, codes: Codes) -> None:
        """A column, and the hidden one that holds its groups."""
        domain = self.generator.field.domain
        rows[:, domain.axis(name)] = codes
        if name in self.generator.groups:
            hidden, group = self.generator.groups[name]
            rows[:, domain.axis(hidden)] = group[codes]

    def _moments(self, rows: IntArray, place: int, before: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Values of the order column, and what they say of the rows: the first one drawn, then one gap after another."""
        gap = self.view.gap
        if gap is None or self.table.order is None:
            return before
        axis = self.table.schema.axis(self.table.order)
        at = self.generator.field.domain.axis(axis.name)
        none = np.zeros(len(rows), dtype=np.bool_)
        if place == 1:
            self._put(rows, gap.name, np.full(len(rows), gap.size - 1))
            self._first.draw(rows, rng)
            found = axis.draw(rows[:, at], rng=rng, shape=self._shapes.get(axis.name)).numbers.astype(np.float64)
        else:
            self._gap.draw(rows, rng)
            codes = np.minimum(rows[:, self.generator.field.domain.axis(gap.name)], gap.n_values - 1)
            step = gap.draw(codes, rng=rng, shape=self._shapes.get(gap.name)).numbers
            self._put(rows, gap.name, codes)
            found = np.minimum(before + step, axis.high)
        self._put(rows, axis.name, to_codes(axis, found, none))
        return found

    def _plan(self, *more: str) -> ConditionalField:
        """Draws whatever is not known once these columns are, too."""
        known = [*self.view.given, *more]
        hidden = [self.generator.groups[name][0] for name in known if name in self.generator.groups]
        return ConditionalField(self.generator.field, [*known, *hidden])

    @cached_property
    def _gap(self) -> ConditionalField:
        return self._plan()

    @cached_property
    def _first(self) -> ConditionalField:
        return self._plan() if self.view.gap is None else self._plan(self.view.gap.name)

    @cached_property
    def _rest(self) -> ConditionalField:
        if self.view.gap is None or self.table.order is None:
            return self._plan()
        return self._plan(self.view.gap.name, self.table.order)

    def _shown(self, rows: IntArray, columns: Sequence[Modelled], rng: np.random.Generator) -> IntArray:
        """Codes of own columns; what nobody listed becomes a listed category."""
        domain = self.generator.domain
        seen = self.model.listed(rows[:, : len(domain)], rng)
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
