"""Counts over some columns: the plainest query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from kagemusha.arrays import IntArray
from kagemusha.marginals import Marginal, NoisyMarginal
from kagemusha.privacy.events import Fact
from kagemusha.queries.query import Query
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True)
class Counts(Query[NoisyMarginal]):
    """How many records have each combination of codes; `word` is what the certificate calls it."""

    domain: Domain
    clique: Clique
    word: str = "counts"

    kind: ClassVar[str] = "counts"
    proof: ClassVar[str] = (
        "One record is in exactly one cell of a marginal. Added or taken away it moves the counts by Δ₁ = 1, Δ₂² = 1; "
        "exchanged it leaves one cell and enters another, Δ₁ = 2, Δ₂² = 2."
    )

    @property
    def what(self) -> str:
        """Counts of these columns."""
        return f"{self.word} of {label(self.clique)}"

    @property
    def facts(self) -> Mapping[str, Fact]:
        """The columns."""
        return {"columns": tuple(self.clique)}

    def cliques(self) -> Sequence[Clique]:
        """One marginal."""
        return [self.clique]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The counts."""
        return marginals[0].counts.ravel()

    def released(self, values: IntArray, deviation: float) -> NoisyMarginal:
        """A noisy marginal."""
        return NoisyMarginal(self.clique, values.reshape(self.domain.shape(self.clique)), deviation)


def label(clique: Clique) -> str:
    """Columns as words."""
    return " × ".join(clique) if clique else "number of rows"
