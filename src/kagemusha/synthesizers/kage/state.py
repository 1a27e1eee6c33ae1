"""What a one-shot synthesizer has released so far, and the model that explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.models.markov import MarkovGenerator
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.kage.columns import NoisyColumns
from kagemusha.synthesizers.kage.grouping import coarse_domain, expand, merged_interaction, on_groups
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit, fit_interactions

STEPS = 400
"""Most belief-propagation passes of a fit."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """Noisy columns, which of their codes share a group in the model, and noisy interactions."""

    domain: Domain
    columns: NoisyColumns
    groups: Mapping[str, IntArray]
    interactions: Sequence[NoisyInteraction] = ()

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

    def query(self, clique: Clique, noise: float) -> Interaction:
        """The clique's interaction, its rare codes merged for this noise in a cell."""
        return merged_interaction(self.tables, self.groups, clique, noise)

    def fit(self, *, max_cells: int, start: FloatArray | None = None) -> InteractionFit:
        """The model over groups; `start` is what an earlier fit to the same columns and first interactions found."""
        columns = [self.columns.grouped(n, self.groups[n]) for n in self.domain]
        interactions = [NoisyInteraction(on_groups(m.query, self.groups), m.values, m.sigma) for m in self.interactions]
        return fit_interactions(
            self.coarse,
            columns,
            interactions,
            self.columns.total,
            max_cells=max_cells,
            max_steps=STEPS,
            start=start,
        )

    def generator(self, fit: InteractionFit) -> MarkovGenerator:
        """The model over all codes: within a group they follow their column."""
        return MarkovGenerator(*expand(fit.field, self.domain, self.groups, self.tables))
