"""Columns: how they are measured, and the posterior mean of their counts.

What counts are likely to be, given that they are not negative and how alike they seem. A column's counts are thought of
as drawn from a gamma distribution around what is expected of them. Its shape says how alike they are: nearly equal
counts are drawn together, a few large ones among many small stay apart. What is expected is the same for all codes, or
where codes have families (siblings in a tree, neighbours in an order) an equal part of what the family holds. Which
shape and which families are right follows from the noisy counts of all columns: each column is a mixture of guesses,
weighed by how well they foretell it and how often they do so in other columns. Reads nothing but released counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.marginals.tally import merged
from kagemusha.release.curator import Curator
from kagemusha.synthesizers.kage.constants import NEIGHBOURS, SHAPES, UNLIKE
from kagemusha.synthesizers.kage.grouping import Tree, ordered_codes, sums, trees_of
from kagemusha.synthesizers.kage.interaction_fit import NoisyColumn


def measure_columns(curator: Curator, cost: float) -> list[NoisyMarginal]:
    """Every column, split so that the noise over all codes of all columns is least."""
    sizes = np.array(curator.domain.sizes, dtype=np.float64) ** (2 / 3)
    return curator.measure([(name,) for name in curator.domain], [float(s) for s in cost * sizes / sizes.sum()])


@dataclass(frozen=True, eq=False)
class NoisyColumns:
    """Noisy counts of every column, their noise, and the number of records."""

    noisy: Mapping[str, FloatArray]
    sigma: Mapping[str, float]
    total: float
    trees: Mapping[str, Tree] = field(default_factory=dict)
    ordered: Mapping[str, int] = field(default_factory=dict)
    """How many of a column's codes have an order: the first ones."""

    @classmethod
    def of(
        cls,
        marginals: Sequence[NoisyMarginal],
        rows: int | None,
        trees: Mapping[str, Tree] | None = None,
        ordered: Mapping[str, int] | None = None,
    ) -> NoisyColumns:
        """Measurements of the same column are combined by inverse variance; `rows` if the number is public."""
        answers: dict[str, list[tuple[FloatArray, float]]] = {}
        for m in marginals:
            answers.setdefault(m.clique[0], []).append((m.values.astype(np.float64), m.sigma**-2))
        known = {name: merged(given) for name, given in answers.items()}
        noisy = {name: values for name, (values, _) in known.items()}
        total, _ = merged((float(values.sum()), precision / len(values)) for values, precision in known.values())
        sigma = {name: precision**-0.5 for name, (_, precision) in known.items()}
        return cls(noisy, sigma, max(1.0, float(rows) if rows is not None else total), trees or {}, ordered or {})

    def table(self, name: str) -> FloatArray:
        """The nearest possible table of a column, noise drawn together."""
        return self._likely[name]

    @cached_property
    def _likely(self) -> Mapping[str, FloatArray]:
        columns = {}
        for name, noisy in self.noisy.items():
            tree = self.trees.get(name, ())
            families = {"siblings": tree[0]} if tree else neighbours(len(noisy), self.ordered.get(name, 0))
            columns[name] = NoisyCounts(noisy, self.sigma[name], families)
        return likely_counts(columns, self.total)

    def grouped(self, name: str, group: IntArray) -> NoisyColumn:
        """The column over groups of codes, as the fit wants it."""
        members = np.bincount(group)
        sigma = self.sigma[name]
        start = np.maximum(sums(self.table(name), group), 0.1 * sigma)
        return NoisyColumn(name, sums(self.table(name), group), sigma * math.sqrt(float(members.mean())), start)


def columns_of(curator: Curator, marginals: Sequence[NoisyMarginal]) -> NoisyColumns:
    """All measurements of columns, with what the schema says about their codes."""
    schema = curator.schema
    return NoisyColumns.of(marginals, curator.public_rows(), trees_of(schema), ordered_codes(schema, curator.domain))


Families = Mapping[str, IntArray]
"""By kind, the family of every code."""


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Counts of one column with noise of deviation `sigma`, and ways in which its codes may belong together."""

    values: FloatArray
    sigma: float
    families: Families


@dataclass(frozen=True, eq=False)
class _Guesses:
    """What is expected of counts under some guesses: mean, mean square, and log-likelihood of what was seen."""

    means: FloatArray
    squares: FloatArray
    evidence: FloatArray
    kinds: Sequence[tuple[str, float]]

    def mixed(self, share: FloatArray, total: float) -> FloatArray:
        """The mean over all guesses, adding up to `total`."""
        mean = share @ self.means
        variance = np.maximum(share @ self.squares - mean**2, 1e-12 * total)
        for _ in range(8):
            # that they add up moves those most that are known least
            mean = np.maximum(mean + (total - mean.sum()) * variance / variance.sum(), 0.0)
        return np.asarray(mean * (total / mean.sum()))


def neighbours(codes: int, ordered: int) -> Families:
    """Families of a column whose first `ordered` codes have an order; the others are on their own."""
    size = min(NEIGHBOURS, ordered // 3)
    if size < 2:
        return {}
    family = np.arange(codes) // size
    family[ordered:] = np.arange(codes - ordered) + (ordered - 1) // size + 1
    return {"neighbours": family}


def likely_counts(columns: Mapping[str, NoisyCounts], total: float) -> dict[str, FloatArray]:
    """Mean counts given noisy ones: none is negative, and those of a column add up to `total`."""
    guesses = {name: _guesses(column, total) for name, column in columns.items()}
    shares = _weighed([g.evidence for g in guesses.values()], [g.kinds for g in guesses.values()])
    return {name: g.mixed(share, total) for (name, g), share in zip(guesses.items(), shares, strict=True)}


def _weighed(evidence: Sequence[FloatArray], kinds: Sequence[Sequence[tuple[str, float]]]) -> list[FloatArray]:
    """The weight of every guess in every column: how often a guess is right is learned from all of them."""
    usual = {kind: 1.0 for found in kinds for kind in found}
    likely = [np.exp(e - e.max()) for e in evidence]
    shares: list[FloatArray] = []
    for _ in range(10):
        shares = []
        for e, found in zip(likely, kinds, strict=True):
            weight = e * np.array([usual[kind] for kind in found])
            shares.append(weight / weight.sum())
        usual = dict.fromkeys(usual, 0.2)
        for share, found in zip(shares, kinds, strict=True):
            for kind, x in zip(found, share.tolist(), strict=True):
                usual[kind] += x
    return shares


def _guesses(column: NoisyCounts, total: float) -> _Guesses:
    noisy = column.values
    sigma = np.full(len(noisy), max(column.sigma, 1e-9 * total))
    even = np.full(len(noisy), total / len(noisy))
    expected = {"even": even}
    for kind, family in column.families.items():
        members = np.bincount(family)
        held_noisy: FloatArray = np.bincount(family, noisy).astype(np.float64)
        alike: FloatArray = members.astype(np.float64) * (total / len(noisy))
        whole = _under(held_noisy, sigma[0] * np.sqrt(members), {"even": alike})
        held = whole.mixed(_weighed([whole.evidence], [whole.kinds])[0], total)
        each = (held / members)[family]
        if kind != "siblings":
            # between the middles of neighbouring families, what is expected changes gradually
            middles = np.bincount(family, np.arange(len(noisy))) / members
            each = np.interp(np.arange(len(noisy)), middles, held / members)
        expected[kind] = np.maximum(each * (total / each.sum()), 1e-3 * even)
    return _under(noisy, sigma, expected)


def _under(noisy: FloatArray, sigma: FloatArray, expected: Mapping[str, FloatArray]) -> _Guesses:
    """What every shape and every expectation make of the noisy counts, by weighing possible counts."""
    # counts up to six deviations away
    low = np.maximum(0.0, noisy - 6 * sigma)
    width = np.maximum(noisy, 0.0) + 6 * sigma - low
    # next to 0 small shapes have a pole: points lie closer there
    power = np.where(low > 0, 1.0, 3.0)[:, None]
    place = (np.arange(64) + 0.5) / 64
    points = low[:, None] + width[:, None] * place**power
    logs = np.log(points)
    seen = -0.5 * ((points - noisy[:, None]) / sigma[:, None]) ** 2 + np.log(power * place ** (power - 1))
    means, squares, evidence, kinds = [], [], [], []
    for kind, mean in expected.items():
        unlike = math.log(UNLIKE) + _log_gamma(points, logs, mean, SHAPES[0])
        for shape in SHAPES:
            alike = math.log(1 - UNLIKE) + _log_gamma(points, logs, mean, shape)
            weight = seen + np.logaddexp(alike, unlike)
            most = weight.max(axis=1, keepdims=True)
            weight = np.exp(weight - most)
            sums = weight.sum(axis=1)
            means.append((weight * points).sum(axis=1) / sums)
            squares.append((weight * points**2).sum(axis=1) / sums)
            evidence.append(float((np.log(sums) + most[:, 0]).sum()))
            kinds.append((kind, shape))
    return _Guesses(np.array(means), np.array(squares), np.array(evidence), kinds)


def _log_gamma(points: FloatArray, logs: FloatArray, mean: FloatArray, shape: float) -> FloatArray:
    """Log density of a gamma distribution of this mean (one for each row of `points`) and shape."""
    rate = (shape / mean)[:, None]
    return np.asarray((shape - 1) * logs - rate * points + shape * np.log(rate) - gammaln(shape))
