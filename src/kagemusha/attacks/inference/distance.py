"""Attacks by nearness: doubles crowd around a target that was there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.inference.protocol import INSIDE, MOST_TARGETS, WITHOUT, References, Scene
from kagemusha.attacks.table import PlayedDoubles
from kagemusha.attacks.threat import ALGORITHM, TABLE

NEAREST = 10


@dataclass(frozen=True)
class MeanDistance:
    """N(D, x, m): the mean Euclidean distance from x to its m nearest rows; with several targets, their mean."""

    nearest: int = NEAREST

    @property
    def name(self) -> str:
        """By the number of neighbours."""
        return f"nearest {self.nearest}"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """One number."""
        found = []
        for target in scene.codes[:MOST_TARGETS]:
            squared = scene.lens.distances(doubles, target)
            count = min(self.nearest, len(squared))
            found.append(float(np.sqrt(np.partition(squared, count - 1)[:count]).mean()))
        return np.array([np.mean(found)])


@dataclass(frozen=True)
class LogDensity:
    """log of a Gaussian kernel density at the target, in doubles and in the real table without it.

    The bandwidth is the median distance of the target from its hundred nearest real rows: fixed before any double is
    seen.
    """

    name: str = "log density"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """Mean over targets of log p_doubles(x) and of log p_real(x)."""
        found = []
        for target, real in zip(scene.codes[:MOST_TARGETS], scene.real_distances, strict=True):
            near = np.partition(real, min(100, len(real)) - 1)[: min(100, len(real))]
            width = max(float(np.median(near)), 1e-12)
            found.append([_log_density(scene.lens.distances(doubles, target), width), _log_density(real, width)])
        return np.asarray(np.mean(found, axis=0))


def _log_density(squared: FloatArray, width: float) -> float:
    powers = -squared / (2 * width)
    top = float(powers.max())
    return top + float(np.log(np.exp(powers - top).sum())) - float(np.log(len(squared)))


@dataclass(frozen=True)
class NearestNeighbour:
    """Nearer than halfway between the references of both worlds means: was there.

    M = 1 is distance to the closest record.
    """

    nearest: int = NEAREST
    name: str = "neighbour"
    needs: frozenset[str] = frozenset({TABLE, ALGORITHM})
    references: str = "target"

    @property
    def statistic(self) -> MeanDistance:
        """One distance."""
        return MeanDistance(self.nearest)

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """How far below the middle."""
        middles = np.array([m[:, 0].mean() for m in references.middle(len(played))])
        return np.asarray(middles[:, None, None] - played[..., 0])


def closest_record() -> NearestNeighbour:
    """Distance to the closest record, the baseline that reports of synthetic data often stop at."""
    return NearestNeighbour(1, "closest-record")


@dataclass(frozen=True)
class DensityRatio:
    """DOMIAS: is the target likelier among doubles than among real people? Thresholded halfway between references."""

    name: str = "density-ratio"
    needs: frozenset[str] = frozenset({TABLE, ALGORITHM})
    references: str = "target"

    @property
    def statistic(self) -> LogDensity:
        """Two log densities."""
        return LogDensity()

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """The log ratio of both densities, less what halfway between the worlds would give."""
        ratio = played[..., 0] - played[..., 1]
        made = references.values[..., 0] - references.values[..., 1]
        if references.own:
            return np.asarray(ratio - made.mean(axis=1)[:, None, None])
        return np.asarray(ratio - (made[:, WITHOUT].mean() + made[:, INSIDE].mean()) / 2)
