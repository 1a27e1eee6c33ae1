"""The attack paper's STAT as its game sees it: raw rows of a multivariate normal, neither clipped nor decoded.

Clipping and decoding move the mean by far more than one record does, so that `mvl-orig` would answer one side always.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.features import Lens, Space, moments
from kagemusha.attacks.table import PlayedDoubles, SameTable, World, WorldKey
from kagemusha.privacy.budget import Budget


@dataclass(frozen=True, eq=False)
class NormalSampler:
    """N(mean, factor·factorᵀ)."""

    mean: FloatArray
    factor: FloatArray
    expansion: str

    def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
        """Raw rows."""
        drawn = rng.standard_normal((rows, self.factor.shape[1])) @ self.factor.T
        drawn += self.mean
        return PlayedDoubles(values=drawn, expansion=self.expansion)


@dataclass(frozen=True)
class UnclippedStat:
    """Exact mean and covariance (over n), then normal rows. It protects nobody, and its fit draws nothing at random."""

    expansion: str = "codes"
    name: str = "stat"
    exact: bool = True
    promised: Budget | None = None

    def settings(self) -> dict[str, Any]:
        """Which features are normal."""
        return {"method": "unclipped stat", "expansion": self.expansion}

    def fit(self, world: World, *, rng: np.random.Generator) -> NormalSampler:
        """Mean and covariance of the world's features."""
        return _fitted(SameTable(world.table), world.key, self.expansion)


@lru_cache(maxsize=16)
def _fitted(same: SameTable, key: WorldKey, expansion: str) -> NormalSampler:
    world = World(same.table, *key)
    points = Lens(Space(expansion, "raw"), same.table).of_codes(world.codes)
    mean, covariance = moments(points)
    values, vectors = np.linalg.eigh(covariance)
    return NormalSampler(mean, vectors * np.sqrt(np.maximum(values, 0.0)), expansion)
