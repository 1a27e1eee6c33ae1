"""An attack in two parts: a statistic of every synthetic table, and an inference, which turns statistics into scores.

Trainings are expensive and statistics small, so the first are run once and only the second are kept; any number of
inferences can then be tried on them. A score above zero says "the target was in the table".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.attacks.features import Space, lens_of, moments
from kagemusha.attacks.table import GameTable, PlayedDoubles, SameTable, World
from kagemusha.attacks.targets import Target

MOST_TARGETS = 50
"""Of more targets the first so many, which lie farthest out, stand for all where each costs a look at every row."""

WITHOUT, INSIDE = 0, 1
"""The two worlds, as places in arrays."""


class Scene:
    """What the adversary has worked out before the first synthetic table is seen: both worlds, the target, a space."""

    def __init__(self, table: GameTable, target: Target, space: Space) -> None:
        self.table, self.target = table, target
        self.lens = lens_of(SameTable(table), space)
        self.worlds: tuple[World, World] = target.worlds(table)
        self.codes: IntArray = target.codes

    @cached_property
    def moments(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """Mean and covariance of both worlds' real tables."""
        found = [moments(self.lens.of_codes(world.codes)) for world in self.worlds]
        return found[0], found[1]

    @cached_property
    def real(self) -> PlayedDoubles:
        """The table without the target, as if it were synthetic: what statistics of ordinary tables look like."""
        return PlayedDoubles(codes=self.worlds[WITHOUT].codes)

    @cached_property
    def unknown(self) -> list[IntArray]:
        """For every column the target's codes that the table without it has nowhere."""
        without = self.worlds[WITHOUT].codes
        found = []
        for axis in range(without.shape[1]):
            own = np.unique(self.codes[:, axis])
            found.append(own[~np.isin(own, without[:, axis])])
        return found

    @cached_property
    def real_distances(self) -> list[FloatArray]:
        """For each target the squared distances of all real rows of the table without it."""
        return [self.lens.distances(self.real, target) for target in self.codes[:MOST_TARGETS]]


class Statistic(Protocol):
    """A few numbers of a synthetic table, as the adversary sees it."""

    @property
    def name(self) -> str:
        """What its numbers are filed under."""
        ...

    def measure(self, doubles: PlayedDoubles, scene: Scene) -> FloatArray:
        """The numbers, one flat array of a fixed length."""
        ...


@dataclass(frozen=True, eq=False)
class References:
    """Statistics of tables the adversary made: (references, side, numbers), from trainings that are never scored.

    With `own` the t-th belongs to the t-th training alone, as in the paper; otherwise all serve all.
    """

    values: FloatArray
    own: bool = False

    def of(self, training: int) -> FloatArray:
        """What serves a training."""
        return self.values[training : training + 1] if self.own else self.values

    def middle(self, trainings: int) -> Iterator[FloatArray]:
        """For every training the mean of its references, by side."""
        common = None if self.own else self.values.mean(axis=0)
        for t in range(trainings):
            yield self.values[t] if common is None else common


class Inference(Protocol):
    """Scores of synthetic tables from their statistics."""

    @property
    def name(self) -> str:
        """What results are filed under."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """What a threat must grant."""
        ...

    @property
    def statistic(self) -> Statistic:
        """What is taken of every table."""
        ...

    @property
    def references(self) -> str:
        """What it learns from: "none", "target" (trainings with and without it), or "strangers" (other targets)."""
        ...

    def scores(self, played: FloatArray, references: References, rng: np.random.Generator) -> FloatArray:
        """(trainings, side, generations, numbers) → (trainings, side, generations)."""
        ...
