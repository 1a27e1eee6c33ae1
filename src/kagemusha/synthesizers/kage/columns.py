"""What is known of single columns: noisy counts from one or more looks, and the tables they amount to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import NoisyMarginal, nearest_counts
from kagemusha.release.curator import Curator
from kagemusha.synthesizers.kage.grouping import sums
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

    @classmethod
    def of(cls, marginals: Sequence[NoisyMarginal], rows: int | None) -> NoisyColumns:
        """Measurements of the same column are combined by inverse variance; `rows` if the number is public."""
        weighted: dict[str, FloatArray] = {}
        precision: dict[str, float] = {}
        for m in marginals:
            (name,), weight = m.clique, m.sigma**-2
            weighted[name] = weighted.get(name, np.zeros(m.values.shape)) + weight * m.values
            precision[name] = precision.get(name, 0.0) + weight
        noisy = {name: np.asarray(weighted[name] / precision[name]) for name in weighted}
        trust = {name: precision[name] / len(noisy[name]) for name in noisy}
        total = sum(trust[n] * float(noisy[n].sum()) for n in noisy) / sum(trust.values())
        sigma = {name: precision[name] ** -0.5 for name in noisy}
        return cls(noisy, sigma, max(1.0, float(rows) if rows is not None else total))

    def table(self, name: str) -> FloatArray:
        """The nearest possible table of a column."""
        return nearest_counts(self.noisy[name], self.total)

    def grouped(self, name: str, group: IntArray) -> NoisyColumn:
        """The column over groups of codes, as the fit wants it."""
        members = np.bincount(group)
        sigma = self.sigma[name]
        start = np.maximum(sums(self.table(name), group), 0.1 * sigma)
        return NoisyColumn(name, sums(self.noisy[name], group), sigma * math.sqrt(float(members.mean())), start)
