"""What a one-shot synthesizer has released so far, and the model that explains it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.measured import Measured
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.marginals import NoisyMarginal
from kagemusha.marginals.tally import merged
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.release.curator import Curator
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.kage.grouping import (
    Tree,
    coarse_domain,
    expand,
    merged_interaction,
    on_groups,
    sums,
    trees_of,
)
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit, NoisyColumn, corrected, fit_interactions
from kagemusha.synthesizers.kage.likely_counts import NoisyCounts, likely_counts, neighbours


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


@dataclass(frozen=True, eq=False)
class Measurements:
    """Noisy columns, which of their codes share a group in the model, and noisy interactions."""

    domain: Domain
    columns: NoisyColumns
    groups: Mapping[str, IntArray]
    ordered: Mapping[str, int]
    """How many of a column's groups have an order: the first ones."""
    interactions: Sequence[NoisyInteraction] = ()
    outside: Sequence[NoisyInteraction] = ()
    """Measured, but the model has no room for them."""

    @cached_property
    def coarse(self) -> Domain:
        """The domain of the groups, which the model is fitted on."""
        return coarse_domain(self.domain, self.groups)

    @cached_property
    def tables(self) -> Mapping[str, FloatArray]:
        """The nearest possible table of each column."""
        return {n: self.columns.table(n) for n in self.domain}

    @property
    def shared_out(self) -> int:
        """Cells of the tables that share groups out among their codes again."""
        groups = ((len(g), int(g.max()) + 1) for g in self.groups.values())
        return sum(codes * count for codes, count in groups if count < codes)

    def room(self, limit: int, most: int) -> int:
        """Cells that the model over groups may have: up to `limit`, and `most` with those that share groups out.

        All columns always fit.
        """
        return max(sum(self.coarse.sizes), min(limit, most - self.shared_out))

    def query(self, clique: Clique, noise: float) -> Interaction:
        """The clique's interaction, its rare codes merged for this noise in a cell."""
        return merged_interaction(self.tables, self.groups, self.ordered, clique, noise, self.columns.trees)

    def fit(self, *, max_cells: int, start: FloatArray | None = None, steps: int | None = None) -> InteractionFit:
        """The model over groups; `start` is what an earlier fit to the same columns and first interactions found.

        Without `steps` it ends when it has converged, or after as many passes as take a bounded time.
        """
        columns = [self.columns.grouped(n, self.groups[n]) for n in self.domain]
        interactions = [NoisyInteraction(on_groups(m.query, self.groups), m.values, m.sigma) for m in self.interactions]
        return fit_interactions(
            self.coarse,
            columns,
            interactions,
            self.columns.total,
            max_cells=max_cells,
            max_steps=steps,
            start=start,
        )

    def generator(self, fit: InteractionFit) -> MarkovGenerator:
        """The model over all codes: within a group they follow their column."""
        whole = MarkovGenerator(*expand(fit.field, self.domain, self.groups, self.tables))
        return replace(whole, pairs=corrected(whole, self.outside))


def columns_of(curator: Curator, marginals: Sequence[NoisyMarginal]) -> NoisyColumns:
    """All measurements of columns, with what the schema says about their codes."""
    schema = curator.schema
    return NoisyColumns.of(marginals, curator.public_rows(), trees_of(schema), ordered_codes(schema, curator.domain))


def ordered_codes(schema: Schema, domain: Domain) -> dict[str, int]:
    """How many of a column's codes have an order, those of numbers, dates and times.

    *missing* and the like come after them.
    """
    columns = {c.name: c for c in schema.modelled}
    return {n: c.n_values if isinstance(c := columns.get(n), Measured) else 0 for n in domain}
