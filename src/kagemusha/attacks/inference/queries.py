"""The likelihood-ratio attack: how many doubles agree with the target, on every column and every pair of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.features import column_features
from kagemusha.attacks.inference.protocol import INSIDE, MOST_TARGETS, WITHOUT, References, Scene
from kagemusha.attacks.table import PlayedDoubles
from kagemusha.attacks.threat import ALGORITHM, TABLE

SHRINK = 0.2
"""Share of the covariance's diagonal that is mixed in where references are few."""


@dataclass(frozen=True)
class Matches:
    """Shares of rows that agree with the target on each column and each pair; several targets are averaged."""

    name: str = "matches"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """Columns first, then pairs."""
        found = []
        for target in scene.codes[:MOST_TARGETS]:
            same = _agree(doubles, target, scene).astype(np.float32)
            together = (same.T @ same).astype(np.float64) / max(1, len(same))
            found.append(together[np.triu_indices(len(together))])
        return np.asarray(np.mean(found, axis=0))


def _agree(doubles: PlayedDoubles, target: FloatArray, scene: Scene) -> FloatArray:
    if doubles.codes is not None:
        return np.asarray(doubles.codes == target)
    assert doubles.values is not None
    if doubles.expansion == "codes":
        # raw numbers agree with a code where they would be rounded to it
        own = [column_features(c, "codes") for c in scene.lens.modelled]
        place = np.concatenate([features[target[i]] for i, features in enumerate(own)])
        return np.asarray(np.abs(doubles.values - place) <= 0.5)
    return np.asarray(doubles.values > 0.5)


@dataclass(frozen=True)
class LikelihoodRatio:
    """log p(statistics | with) − log p(statistics | without), both normal with one covariance, from references."""

    name: str = "likelihood-ratio"
    needs: frozenset[str] = frozenset({TABLE, ALGORITHM})
    references: str = "target"

    @property
    def statistic(self) -> Matches:
        """Agreement with the target."""
        return Matches()

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """The linear discriminant; the references of all trainings serve all, since one pair alone has no spread."""
        made = references.values
        means = made.mean(axis=0)
        spread = np.concatenate([made[:, side] - means[side] for side in (WITHOUT, INSIDE)])
        scale = np.sqrt((spread**2).mean(axis=0))
        used = scale > 1e-12
        if not used.any():
            return np.zeros(played.shape[:-1])
        z = spread[:, used] / scale[used]
        covariance = (1 - SHRINK) * (z.T @ z) / max(1, len(z) - 2) + SHRINK * np.eye(int(used.sum()))
        apart = (means[INSIDE] - means[WITHOUT])[used] / scale[used]
        direction = np.linalg.solve(covariance, apart)
        middle = means.mean(axis=0)[used]
        return np.asarray(((played[..., used] - middle) / scale[used]) @ direction)
