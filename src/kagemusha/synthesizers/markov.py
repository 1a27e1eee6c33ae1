"""The generator behind every marginal-based synthesizer: a Markov random field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.graphical import MarkovField, Measurement, sample_rounded
from kagemusha.marginals import NoisyMarginal
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.protocol import Arrays, Evidence


@dataclass(frozen=True, eq=False)
class MarkovGenerator:
    """Samples a Markov field by exact rounding down its junction tree."""

    kind: ClassVar[str] = "markov-field"
    field: MarkovField

    @property
    def domain(self) -> Domain:
        """The domain of the codes."""
        return self.field.domain

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self.field.total

    def project(self, clique: Clique) -> FloatArray:
        """Expected counts over a clique."""
        return self.field.project(clique)

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over many cliques at once."""
        return self.field.project_many(cliques)

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Synthetic codes; with `where`, from the exact conditional distribution."""
        field = self.field
        if where:
            field = field.condition({clique: table for clique, table in where.items()})  # noqa: C416
            if not field.total > 0:
                raise UsageError("where: the model gives this condition no probability at all")
        return sample_rounded(field, rows, rng=rng)

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """The field's description and potentials."""
        return self.field.to_arrays()

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> MarkovGenerator:
        """The generator `to_arrays` described."""
        return cls(MarkovField.from_arrays(meta, dict(arrays)))


def measurements_of(marginals: Sequence[NoisyMarginal]) -> list[Measurement]:
    """Released marginals as the estimator wants them."""
    return [Measurement(m.clique, m.values.astype(np.float64), m.sigma) for m in marginals]
