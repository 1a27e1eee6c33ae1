"""A rule on the level of codes: the combinations that it rules out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray
from kagemusha.schema.domain import Clique, Domain


@dataclass(frozen=True, eq=False)
class StructuralZeros:
    """Combinations of codes that a rule, or a few together, rule out."""

    rule: str
    clique: Clique
    impossible: NDArray[np.bool_]

    def hits(self, domain: Domain, codes: IntArray) -> NDArray[np.bool_]:
        """Which rows of codes run into it."""
        return np.asarray(self.impossible[tuple(codes[:, domain.axis(name)] for name in self.clique)])


def hits(zeros: Sequence[StructuralZeros], domain: Domain, codes: IntArray) -> NDArray[np.bool_]:
    """Which rows of codes hit any structural zero."""
    found = np.zeros(len(codes), dtype=np.bool_)
    for zero in zeros:
        found |= zero.hits(domain, codes)
    return found
