"""Values that nobody listed: counted by the model in a bucket of their own, and never shown by a double.

A row in that bucket keeps its other columns and gets a listed category, drawn as the model has them given the column
that tells most about it. The rule is fixed by the model, so that expected counts follow it exactly, column by column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.marginals.information import mutual_information
from kagemusha.schema import Modelled, Schema
from kagemusha.schema.domain import Clique, Domain

MOST_PARTNERS = 16
"""Columns among which the one that tells most is looked for."""

PARTNER_CELLS = 1 << 20
"""Cells of a pair that is looked at for it."""


@dataclass(frozen=True, eq=False)
class Redrawn:
    """How a row whose value of `name` is not listed gets a listed one."""

    name: str
    code: int
    partner: str | None
    chances: FloatArray
    """P(code | code of the partner), 0 for the bucket; one line if there is no partner."""
    on_average: FloatArray
    """The same over all rows in the bucket."""

    def draw(self, codes: IntArray, domain: Domain, rng: np.random.Generator) -> IntArray:
        """Listed codes for rows that are all in the bucket."""
        lines = np.zeros(len(codes), dtype=np.int64) if self.partner is None else codes[:, domain.axis(self.partner)]
        return _places(np.cumsum(self.chances, axis=1), lines, rng.random(len(codes)))

    def moved(self, table: FloatArray, clique: Clique) -> FloatArray:
        """Expected counts over a clique that holds the column, after everything in the bucket was drawn again."""
        axis = clique.index(self.name)
        table = np.moveaxis(table, axis, -1).copy()
        bucket = table[..., self.code].copy()
        table[..., self.code] = 0.0
        if self.partner in clique:
            rest = [name for name in clique if name != self.name]
            at = rest.index(self.partner)
            shape = [len(self.chances) if i == at else 1 for i in range(len(rest))]
            table += bucket[..., None] * self.chances.reshape([*shape, -1])
        else:
            table += bucket[..., None] * self.on_average
        return np.moveaxis(table, -1, axis)


class UnlistedValues:
    """The columns of a schema with such a bucket, and how the generator's rows are shown without it."""

    def __init__(self, schema: Schema, generator: Generator) -> None:
        self._generator = generator
        self._columns = {c.name: c for c in schema.modelled if c.unseen_code is not None}
        self._ways: dict[str, Redrawn] = {}

    def _way(self, name: str) -> Redrawn:
        if name not in self._ways:
            self._ways[name] = redrawn(self._generator, self._columns[name])
        return self._ways[name]

    def shown(self, codes: IntArray, rng: np.random.Generator) -> IntArray:
        """The same rows with listed values where they had none; partners count as they were drawn first."""
        domain = self._generator.domain
        fresh: dict[int, tuple[IntArray, IntArray]] = {}
        for name, column in self._columns.items():
            rows = np.flatnonzero(codes[:, domain.axis(name)] == column.unseen_code)
            if len(rows):
                fresh[domain.axis(name)] = rows, self._way(name).draw(codes[rows], domain, rng)
        shown = codes.copy() if fresh else codes
        for axis, (rows, drawn) in fresh.items():
            shown[rows, axis] = drawn
        return shown

    def moved(self, table: FloatArray, clique: Clique) -> FloatArray:
        """Expected counts of the generator over a clique, as its rows are shown."""
        for name in clique:
            if name in self._columns:
                table = self._way(name).moved(table, clique)
        return table


def _places(rising: FloatArray, given: IntArray, uniform: FloatArray) -> IntArray:
    """For each row a place drawn by the rising chances of its line."""
    found = np.empty(len(given), dtype=np.int64)
    for line in np.unique(given):
        mine = given == line
        found[mine] = np.searchsorted(rising[line], uniform[mine] * rising[line, -1], side="right")
    return np.asarray(np.minimum(found, rising.shape[1] - 1), dtype=np.int64)


def redrawn(generator: Generator, column: Modelled) -> Redrawn:
    """How the model fills a column's bucket."""
    name, code, domain = column.name, column.unseen_code, generator.domain
    assert code is not None
    project = generator.project
    own = _listed(project((name,))[None, :], column)
    best, partner, chosen = 0.0, None, own
    bucket = np.ones(1)
    for other in _neighbours(generator, name):
        table = project((other, name)) if domain.axis(other) < domain.axis(name) else project((name, other)).T
        information = mutual_information(np.maximum(table, 0.0))
        if information > best:
            best, partner = information, other
            chosen = np.where(_some(table, column)[:, None], _listed(table, column), own)
            bucket = table[:, code]
    weight = bucket if bucket.sum() > 0 else np.ones(len(bucket))
    return Redrawn(name, code, partner, chosen, weight @ chosen / weight.sum())


def _some(table: FloatArray, column: Modelled) -> FloatArray:
    kept = np.arange(table.shape[1]) != column.unseen_code
    return np.asarray(table[:, kept].sum(axis=1) > 1e-9)


def _listed(table: FloatArray, column: Modelled) -> FloatArray:
    """Shares of the codes in each line without the bucket; without a record all listed ones are alike."""
    shares = np.maximum(table, 0.0)
    shares[:, column.unseen_code] = 0.0
    empty = shares.sum(axis=1) <= 1e-9
    shares[empty, : column.n_values] = 1.0
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _neighbours(generator: Generator, name: str) -> list[str]:
    """Columns that may tell something about another.

    Those the model ties to it, or the first ones that can be counted with it.
    """
    domain = generator.domain
    others: Iterable[str] = (other for other in domain if other != name)
    if isinstance(generator, MarkovGenerator):
        others = _tied(generator, name)
    small = (other for other in others if domain.cells((name, other)) <= PARTNER_CELLS)
    return [other for other, _ in zip(small, range(MOST_PARTNERS), strict=False)]


def _tied(generator: MarkovGenerator, name: str) -> list[str]:
    """Columns in a potential with it, or with what holds its groups."""
    of = {hidden: column for column, (hidden, _) in generator.groups.items()}
    cliques = [{of.get(n, n) for n in clique} for clique in generator.field.potentials]
    return sorted({n for clique in cliques if name in clique for n in clique} - {name}, key=generator.domain.axis)
