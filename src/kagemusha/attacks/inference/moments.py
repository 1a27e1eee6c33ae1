"""Attacks on means and covariances: MVL(A, B, λ) = (1−λ)‖μ_A − μ_B‖₂ + λ‖Σ_A − Σ_B‖_F.

The nearer world is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT, References, Scene
from kagemusha.attacks.table import PlayedDoubles
from kagemusha.attacks.threat import ALGORITHM, TABLE

LAMBDA = 0.5
SWEEP = tuple(float(x) for x in np.linspace(0.0, 0.01, 101))
"""Where the paper looks for the best λ; ours is chosen on plays that are not scored."""


@dataclass(frozen=True)
class MomentDistances:
    """‖μ − μ_world‖ and ‖Σ − Σ_world‖ of both real tables: enough for every λ."""

    name: str = "moment distances"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """Mean and covariance distance from the world without, then from the world with the target."""
        mean, covariance = scene.lens.moments(doubles)
        found = []
        for other_mean, other_covariance in scene.moments:
            found += [float(np.linalg.norm(mean - other_mean)), float(np.linalg.norm(covariance - other_covariance))]
        return np.array(found)


@dataclass(frozen=True)
class Moments:
    """Mean and covariance themselves; off-diagonal entries once, times √2, so that distances are Frobenius'."""

    name: str = "moments"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """The mean, then the upper half of the covariance."""
        mean, covariance = scene.lens.moments(doubles)
        above = covariance[np.triu_indices(len(mean), 1)] * np.sqrt(2.0)
        return np.concatenate([mean, np.diag(covariance), above])


@dataclass(frozen=True)
class MvlOrig:
    """Against the real tables. With `sweep`, λ is the one that does best on the references."""

    sweep: bool = False

    @property
    def name(self) -> str:
        """mvl-orig, or with the sweep mvl-orig-best."""
        return "mvl-orig-best" if self.sweep else "mvl-orig"

    @property
    def needs(self) -> frozenset[str]:
        """Both tables; for the sweep also the algorithm."""
        return frozenset({TABLE, ALGORITHM} if self.sweep else {TABLE})

    @property
    def statistic(self) -> MomentDistances:
        """Four distances."""
        return MomentDistances()

    @property
    def references(self) -> str:
        """For the sweep only."""
        return "target" if self.sweep else "none"

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """How much farther the world without is."""
        weight = best_lambda(references.values) if self.sweep else LAMBDA
        return gap(played, weight)


def gap(distances: FloatArray, weight: float) -> FloatArray:
    """MVL to the world without minus MVL to the world with the target."""
    without = (1 - weight) * distances[..., 0] + weight * distances[..., 1]
    inside = (1 - weight) * distances[..., 2] + weight * distances[..., 3]
    return np.asarray(without - inside)


def best_lambda(distances: FloatArray) -> float:
    """The λ of the sweep with the most right answers on (references, side, 4); the middle one of those that tie."""
    right = []
    for weight in SWEEP:
        found = gap(distances, weight)
        right.append(float((found[:, INSIDE] > 0).mean() + (found[:, WITHOUT] <= 0).mean()))
    best = np.flatnonzero(np.array(right) == max(right))
    return SWEEP[int(best[len(best) // 2])]


@dataclass(frozen=True)
class MvlSyn:
    """Against synthetic tables made from both worlds by trainings of one's own.

    With `sweep`, λ is the one that does best on the references, each judged by the others.
    """

    sweep: bool = False
    weight: float = LAMBDA
    needs: frozenset[str] = frozenset({TABLE, ALGORITHM})
    references: str = "target"

    @property
    def name(self) -> str:
        """mvl-syn, or with the sweep mvl-syn-best."""
        return "mvl-syn-best" if self.sweep else "mvl-syn"

    @property
    def statistic(self) -> Moments:
        """All of mean and covariance."""
        return Moments()

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """How much farther the references without the target are."""
        weight = self._best(references.values) if self.sweep else self.weight
        found = np.empty(played.shape[:-1])
        for t, middle in enumerate(references.middle(len(played))):
            found[t] = gap(_to_both(played[t], middle), weight)
        return found

    def _best(self, values: FloatArray) -> float:
        """From (references, side, numbers)."""
        if len(values) < 2:
            return self.weight
        whole = values.sum(axis=0)
        others = [(whole - one) / (len(values) - 1) for one in values]
        return best_lambda(np.array([_to_both(one, rest) for one, rest in zip(values, others, strict=True)]))


def _to_both(numbers: FloatArray, middle: FloatArray) -> FloatArray:
    """Distances of mean and of covariance to the middle without the target, then to that with it, as `gap` takes."""
    width = _width(numbers.shape[-1])
    parts = []
    for side in (WITHOUT, INSIDE):
        apart = numbers - middle[side]
        parts.append(np.sqrt((apart[..., :width] ** 2).sum(axis=-1)))
        parts.append(np.sqrt((apart[..., width:] ** 2).sum(axis=-1)))
    return np.stack(parts, axis=-1)


def _width(length: int) -> int:
    """The width w of w + w(w + 1)/2 numbers."""
    return round((math.sqrt(9 + 8 * length) - 3) / 2)
