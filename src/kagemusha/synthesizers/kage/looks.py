"""What the looks at everything tell: the start of every later choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import Interaction
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.choice import shrunk
from kagemusha.synthesizers.kage.state import Gathered


@dataclass(frozen=True, eq=False)
class Looks:
    """What the looks at everything told: columns, and how far every pair is from independence. All of it released."""

    marginals: Sequence[NoisyMarginal]
    known: Gathered
    queries: Sequence[Interaction]
    """One for each pair."""
    scores: NoisyVector | None
    """None where there is no pair."""
    typical: float
    """The noise that a cell of a pair may have."""
    products: Sequence[FloatArray] = ()
    """What each pair would be if its columns were independent, over groups."""

    @property
    def pairs(self) -> list[Clique]:
        """The pairs that were looked at."""
        return [query.clique for query in self.queries]

    @property
    def errors(self) -> FloatArray:
        """Their distances from independence, in records, with the noise taken into account."""
        return np.zeros(0) if self.scores is None else shrunk(self.scores.values, self.scores.sigma)
