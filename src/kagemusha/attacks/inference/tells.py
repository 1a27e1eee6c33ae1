"""Attacks on what should not differ at all: categories that only one world knows, and the number of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT, References, Scene
from kagemusha.attacks.table import PlayedDoubles
from kagemusha.attacks.threat import ROWS, TABLE


@dataclass(frozen=True)
class Unknown:
    """Doubles with a code that the world without the target has nowhere, but the target has."""

    name: str = "unknown codes"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """How many rows; raw numbers have no codes, so none."""
        if doubles.codes is None:
            return np.zeros(1)
        hit = np.zeros(doubles.rows, dtype=bool)
        for axis, new in enumerate(scene.unknown):
            if len(new):
                hit |= np.isin(doubles.codes[:, axis], new)
        return np.array([float(hit.sum())])


@dataclass(frozen=True)
class Support:
    """Any such row says: was there. Only a domain taken from the data can make one."""

    name: str = "support"
    needs: frozenset[str] = frozenset({TABLE})
    references: str = "none"

    @property
    def statistic(self) -> Unknown:
        """A count."""
        return Unknown()

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """The count, less one half."""
        return np.asarray(played[..., 0] - 0.5)


@dataclass(frozen=True)
class Counted:
    """Number of rows."""

    name: str = "rows"

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """Of the doubles, and of both worlds."""
        return np.array([doubles.rows, scene.worlds[WITHOUT].rows, scene.worlds[INSIDE].rows], dtype=np.float64)


@dataclass(frozen=True)
class RowCount:
    """The number of rows nearest to a world's own says which world it was.

    Where the number is fixed it says nothing.
    """

    name: str = "row-count"
    needs: frozenset[str] = frozenset({TABLE, ROWS})
    references: str = "none"

    @property
    def statistic(self) -> Counted:
        """Three counts."""
        return Counted()

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """Distance from the middle of both; a tie says nothing, so a coin decides."""
        score = played[..., 0] - (played[..., 1] + played[..., 2]) / 2
        fixed = np.ptp(played[..., 0]) == 0
        return np.asarray(rng.choice([-1.0, 1.0], score.shape) if fixed else score)
