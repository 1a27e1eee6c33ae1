"""Sums of products of features over released tables: unbiased, and with the law of their noise.

A pair of columns is known from counts, or from its interaction put together with its columns. Each such sum is linear
in released numbers, so the noise of all of them together is one Gaussian with a known covariance: what two sums share
(a column's counts, a table of three columns) they share there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.inference.evidence import Unknown
from kagemusha.inference.formula import Feature
from kagemusha.marginals import NoisyMarginal
from kagemusha.models.model import Model
from kagemusha.quality.released import Joined, ReleasedNumbers
from kagemusha.queries.interactions import NoisyInteraction
from kagemusha.schema import Clique

Terms = list[tuple[int, FloatArray]]
"""Released tables by their place, each with what its cells count with."""


@dataclass(frozen=True, eq=False)
class Product:
    """The sum of a product of two features over all people."""

    value: float
    terms: Terms
    coarse: float = 0.0
    """How far it may be off because values were measured in groups."""


class Released:
    """What was released of the columns of a model, as sums can be taken over it."""

    def __init__(self, model: Model) -> None:
        self.model, self.known = model, ReleasedNumbers(model)
        self.total = self.known.total
        self._tables: list[NoisyMarginal | NoisyInteraction] = [*model.measurements, *model.interactions]
        self._places = {id(one): at for at, one in enumerate(self._tables)}
        self._interactions = {one.query.clique: one for one in model.interactions}

    def counts(self, column: str) -> FloatArray:
        """The released counts of a column."""
        found = self.known.counts((column,))
        if found is None:
            raise Unknown(f"{column} was not measured by itself")
        return np.asarray(found.values, dtype=np.float64)

    def deviation(self, column: str) -> float:
        """That of the noise in each of a column's counts."""
        found = self.known.counts((column,))
        return 0.0 if found is None else found.sigma

    def groupings(self, column: str, others: Sequence[str]) -> list[IntArray]:
        """How the codes of a column were held together beside each of the others."""
        found = []
        for other in others:
            pair = self.model.domain.canonical((column, other))
            if self.known.counts(pair) is None:
                joined = self.known.joined(pair)
                if joined is not None:
                    found.append(joined.groups[pair.index(column)])
        return found

    def measured(self, one: str, other: str) -> bool:
        """Whether the table of two columns was."""
        pair = self.model.domain.canonical((one, other))
        return self.known.counts(pair) is not None or self.known.joined(pair) is not None

    def product(self, one: Feature, other: Feature | None = None) -> Product:
        """The sum of one feature, or of the product of two."""
        if other is None or other.column == one.column:
            weights = one.values if other is None else one.values * other.values
            return self._counted((one.column,), weights)
        pair = self.model.domain.canonical((one.column, other.column))
        first, second = (one, other) if pair[0] == one.column else (other, one)
        if self.known.counts(pair) is not None:
            return self._counted(pair, np.multiply.outer(first.values, second.values))
        joined = self.known.joined(pair)
        if joined is None:
            raise Unknown(unmeasured([pair]))
        return self._put_together(pair, joined, first, second)

    def _counted(self, clique: Clique, weights: FloatArray) -> Product:
        terms: Terms = []
        value = precision = 0.0
        for marginal, own in self._covering(clique):
            cells = np.asarray(weights)
            order = [name for name in marginal.clique if name in clique]
            cells = cells.transpose([clique.index(name) for name in order])
            spread = cells.reshape(
                [s if n in clique else 1 for n, s in zip(marginal.clique, marginal.values.shape, strict=True)]
            )
            spread = np.broadcast_to(spread, marginal.values.shape)
            value += own * float((spread * marginal.values).sum())
            precision += own
            terms.append((self._places[id(marginal)], own * spread))
        if not terms:
            raise Unknown(f"{', '.join(clique)} was not measured by itself")
        return Product(value / precision, [(place, cells / precision) for place, cells in terms])

    def _covering(self, clique: Clique) -> Iterator[tuple[NoisyMarginal, float]]:
        """Measured tables that hold these columns, with the precision of what they say of a cell."""
        for marginal in self.model.measurements:
            if set(clique) <= set(marginal.clique):
                wide = self.model.domain.cells(marginal.clique) / self.model.domain.cells(clique)
                yield marginal, 1 / (wide * max(marginal.sigma, 1e-9) ** 2)

    def _put_together(self, pair: Clique, joined: Joined, first: Feature, second: Feature) -> Product:
        """From the interaction and both columns. Inside groups of a number, the line between groups is followed."""
        (u, wider), (v, taller) = (
            self._by_group(feature, group) for feature, group in zip((first, second), joined.groups, strict=True)
        )
        interaction = self._interactions[pair]
        cells = np.multiply.outer(u - u.mean(), v - v.mean())
        together = float((cells * interaction.values).sum())
        terms: Terms = [(self._places[id(interaction)], wider * taller * cells)]
        value = wider * taller * together
        sides = ((pair[0], joined.groups[0], u, v.mean()), (pair[1], joined.groups[1], v, u.mean()))
        for name, group, own, mean in sides:
            part = self._counted((name,), mean * own[group])
            value += part.value
            terms += part.terms
        value -= self.total * float(u.mean() * v.mean())
        return Product(value, terms, abs((wider * taller - 1) * together))

    def _by_group(self, feature: Feature, group: IntArray) -> tuple[FloatArray, float]:
        """A feature's mean in each group, and by how much the whole spread is larger than that of these means."""
        counts = np.maximum(self.counts(feature.column), 1e-9)
        mass = np.bincount(group, counts)
        means = np.bincount(group, counts * feature.values) / mass
        middle = float((counts * feature.values).sum() / counts.sum())
        whole = float((counts * (feature.values - middle) ** 2).sum())
        between = float((mass * (means - middle) ** 2).sum())
        return means, whole / between if between > 0 else 1.0

    def noise(self, products: Sequence[Product]) -> FloatArray:
        """The covariance of the noise in several sums."""
        found = np.zeros((len(products), len(products)))
        by_place: dict[int, dict[int, FloatArray]] = {}
        for at, product in enumerate(products):
            for place, cells in product.terms:
                rows = by_place.setdefault(place, {})
                rows[at] = rows[at] + cells if at in rows else cells
        for place, rows in by_place.items():
            where = list(rows)
            flat = np.stack([rows[at].ravel() for at in where])
            found[np.ix_(where, where)] += self._tables[place].sigma ** 2 * (flat @ flat.T)
        return found


def unmeasured(pairs: Sequence[Clique]) -> str:
    """Why nothing can be said, and what would help."""
    named = ", ".join(f"{a} × {b}" for a, b in pairs)
    what = "the table" if len(pairs) == 1 else "the tables"
    verb = "was" if len(pairs) == 1 else "were"
    a, b = pairs[0]
    return (
        f"{what} {named} {verb} not measured: what doubles show of it is no evidence. A release measures what its "
        f'schema demands: [[require]] table = ["{a}", "{b}"]'
    )
