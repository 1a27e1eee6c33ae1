"""The order column of rows below: a first value, then gaps, so that values rise by construction.

A gap has the chance that the model of rows gives it at its place, times that of the value it leads to, times how gaps
go with the value before (`lag`, scaled so that the released table of both comes out). Gaps that lead out of the bounds
have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.bins import to_codes
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField
from kagemusha.graphical.conditional import ConditionalField
from kagemusha.schema import Integer, Measured
from kagemusha.schema.domain import Clique
from kagemusha.schema.views import View


@dataclass(frozen=True, eq=False)
class Rows:
    """The model of rows by themselves, with what is known of a row from its parent and its place filled in."""

    generator: MarkovGenerator
    view: View

    def known(self, context: Sequence[Codes], places: IntArray) -> IntArray:
        """Lines with the context and the place; the rest is 0."""
        found = np.zeros((len(places), len(self.generator.field.domain)), dtype=np.int64)
        columns = list(context)
        if self.view.position is not None:
            columns.append(_coded(self.view.position, places))
        for name, codes in zip(self.view.given, columns, strict=True):
            self.put(found, name, codes)
        return found

    def put(self, rows: IntArray, name: str, codes: Codes) -> None:
        """A column, and the hidden one that holds its groups."""
        domain = self.generator.field.domain
        rows[:, domain.axis(name)] = codes
        if name in self.generator.groups:
            hidden, group = self.generator.groups[name]
            rows[:, domain.axis(hidden)] = group[codes]

    def given(self, *more: str) -> ConditionalField:
        """Draws what is not known once these columns are, too."""
        return ConditionalField(self.generator.field, self.with_groups(self.view.given, *more))

    def with_groups(self, names: Sequence[str], *more: str) -> list[str]:
        """Columns, and the hidden ones that hold their groups."""
        known = [*names, *more]
        return [*known, *(self.generator.groups[n][0] for n in known if n in self.generator.groups)]

    @property
    def order(self) -> tuple[str, str]:
        """The column of gaps, and that of the order."""
        assert self.view.gap is not None
        return self.view.gap.name, self.view.gap.name.removeprefix("gap of ")


@dataclass(frozen=True, eq=False)
class Moments:
    """Draws values of the order column along the rows of parents."""

    rows: Rows
    axis: Measured
    gap: Integer
    lag: FloatArray
    """Log weights: code of the value before × code of the gap."""
    level: FloatArray
    """Log weights of the codes of values, under which their numbers over all places come out."""
    shape: FloatArray | None = None
    """How values lean inside the bins of the order column."""

    def first(self, known: IntArray, rng: np.random.Generator) -> FloatArray:
        """First values, of rows with context and place filled in; the mark that there is no gap is put there, too."""
        self.rows.put(known, self.gap.name, np.full(len(known), self.gap.size - 1))
        codes = _drawn(self._begin.chances(known, self.axis.name) * np.exp(self.level), rng)
        found = self.axis.draw(codes, rng=rng, shape=self.shape).numbers.astype(np.float64)
        self.rows.put(known, self.axis.name, self.coded(found))
        return found

    def after(self, known: IntArray, before: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The values after these, and gap and value put into the lines."""
        weights = self.weights(known, before) * np.exp(self.lag[self.coded(before)])
        codes = _drawn(weights, rng)
        low, high = self._ends
        room = np.minimum(high[codes], self.axis.high - before)
        gaps = low[codes] + np.floor(rng.random(len(known)) * (room - low[codes] + 1))
        found = before + gaps
        self.rows.put(known, self.gap.name, codes)
        self.rows.put(known, self.axis.name, self.coded(found))
        return found

    def weights(self, known: IntArray, before: FloatArray) -> FloatArray:
        """How likely each gap is without `lag`, row by row; the mark of no gap has no chance."""
        chances, values = self._open.chances_of(known, (self.gap.name, self.axis.name))
        low, high = self._ends
        middle = before[:, None] + (low + np.minimum(high, self.axis.high - before[:, None])) // 2
        reached = self.coded(np.clip(middle, self.axis.low, self.axis.high).ravel()).reshape(middle.shape)
        found = chances[:, : self.gap.n_values] * np.take_along_axis(values * np.exp(self.level), reached, axis=1)
        inside = before[:, None] + low <= self.axis.high
        found = np.where(inside, found + 1e-12, 0.0)
        found /= found.sum(axis=1, keepdims=True)
        return np.append(found, np.zeros((len(found), 1)), axis=1)

    def coded(self, numbers: FloatArray) -> IntArray:
        """Codes of values of the order column."""
        return _coded(self.axis, numbers)

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest gap of each code."""
        low = np.asarray(self.gap.starts, dtype=np.float64)
        return low, np.append(low[1:] - 1, float(self.gap.high))

    @cached_property
    def _begin(self) -> ConditionalField:
        return self.rows.given(self.gap.name)

    @cached_property
    def _open(self) -> ConditionalField:
        return self.rows.given()


def fitted_lag(
    moments: Moments, known: IntArray, before: FloatArray, wanted: FloatArray, rounds: int = 30
) -> FloatArray:
    """The `lag` under which gaps after these values have the wanted table (shares of each line) with them."""
    weights, lines = moments.weights(known, before), moments.coded(before)
    lag = np.zeros(wanted.shape)
    actual = np.bincount(lines, minlength=len(wanted)).astype(np.float64)
    smooth = 0.5
    for _ in range(rounds):
        likely = weights * np.exp(lag[lines])
        likely /= likely.sum(axis=1, keepdims=True)
        expected = np.zeros(wanted.shape)
        np.add.at(expected, lines, likely)
        lag += np.log((wanted * actual[:, None] + smooth) / (expected + smooth))
    return lag


def _drawn(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """A code per line, by these weights."""
    total = np.cumsum(weights, axis=1)
    target = np.minimum(rng.random(len(weights)) * total[:, -1], np.nextafter(total[:, -1], 0.0))
    return np.asarray((total <= target[:, None]).sum(axis=1), dtype=np.int64)


def apart(field: MarkovField, clique: Clique) -> FloatArray:
    """The potential of a clique, zeros where there is none."""
    table = field.potentials.get(clique)
    return np.zeros(field.domain.shape(clique)) if table is None else table


def _coded(column: Measured, numbers: FloatArray | IntArray) -> IntArray:
    return to_codes(column, np.asarray(numbers), np.zeros(len(numbers), dtype=np.bool_)).astype(np.int64)
