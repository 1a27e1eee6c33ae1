"""Who answers the questions of the deep methods: the Curator at a price, or the bare table for what is not private."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.neural.factors import Factors
from kagemusha.neural.wishart import REASON, wishart_noise
from kagemusha.privacy.query_kinds import BESIDE, DIAGONAL
from kagemusha.progress import Progress
from kagemusha.queries.query import Counts
from kagemusha.queries.record_sums import RecordQuery, Scatter
from kagemusha.queries.record_vectors import LATTICE
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.release.training import Learner, TrainingSchedule
from kagemusha.sources.protocol import Source

BATCH = 128
"""Rows in a step of training without protection."""


class Asking(Protocol):
    """What the deep methods need of whoever holds the table."""

    def sums(self, query: RecordQuery, cost: float) -> NoisyVector:
        """The answer to a sum over records."""
        ...

    def scatter(self, query: Scatter, cost: float) -> NoisyVector:
        """The answer to PCA's question."""
        ...

    def size(self, cost: float) -> float:
        """About how many rows there are; at least one."""
        ...

    def train(self, schedule: TrainingSchedule, learner: Learner, *, what: str, progress: Progress) -> None:
        """Train a learner."""
        ...


class PaidAsking:
    """Through the Curator: everything has its price."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def sums(self, query: RecordQuery, cost: float) -> NoisyVector:
        """With noise."""
        return self._curator.answer([query], cost)[0]

    def scatter(self, query: Scatter, cost: float) -> NoisyVector:
        """With symmetric Gaussian noise."""
        return self.sums(query, cost)

    def size(self, cost: float) -> float:
        """A noisy count."""
        (found,) = self._curator.answer([Counts(self._curator.domain, ())], cost)
        return max(1.0, float(found.values))

    def train(self, schedule: TrainingSchedule, learner: Learner, *, what: str, progress: Progress) -> None:
        """On Poisson samples, clipped, with noise."""
        self._curator.train(schedule, learner, what=what, progress=progress)


class WishartPCA(PaidAsking):
    """Everything at its price but PCA, which gets Wishart noise of ε = √(2ρ) and no promise."""

    def __init__(self, curator: Curator, seed: int = 0) -> None:
        super().__init__(curator)
        self._columns = curator.unprotected(REASON).records()[0]
        self._rng = np.random.default_rng(seed)

    def scatter(self, query: Scatter, cost: float) -> NoisyVector:
        """The exact scatter and Wishart noise."""
        exact = query.finish(query.part(self._columns))
        width = query.vectors.width
        noise = wishart_noise(width, math.sqrt(2 * cost), self._rng) * LATTICE**2
        upper = np.triu_indices(width, 1)
        flat = np.concatenate([DIAGONAL * np.diag(noise), BESIDE * noise[upper]])
        return query.released(exact + np.rint(flat).astype(np.int64), 1e-9)


class Bare:
    """From the table itself, for baselines without protection; the certificate says ε = ∞."""

    def __init__(self, source: Source, seed: int = 0) -> None:
        self._columns = source.records()[0]
        self._rng = np.random.default_rng(seed)

    def sums(self, query: RecordQuery, cost: float) -> NoisyVector:
        """Exactly."""
        return query.released(query.finish(query.part(self._columns)), 1e-9)

    def scatter(self, query: Scatter, cost: float) -> NoisyVector:
        """Exactly."""
        return self.sums(query, cost)

    def size(self, cost: float) -> float:
        """Exactly."""
        return max(1.0, float(len(self._columns[0])))

    def train(self, schedule: TrainingSchedule, learner: Learner, *, what: str, progress: Progress) -> None:
        """On shuffled batches, neither clipped nor noisy, for as many passes as the schedule has."""
        rows = len(self._columns[0])
        epochs = max(1, round(schedule.steps * schedule.rate))
        for epoch in range(epochs):
            order = self._rng.permutation(rows)
            for begin in range(0, rows, BATCH):
                at = order[begin : begin + BATCH]
                codes: IntArray = np.column_stack([column[at] for column in self._columns]).astype(np.int64)
                gradients = learner.gradients(codes, self._rng)
                learner.update(_mean(gradients, len(at)))
            progress(f"{what}: epoch {epoch + 1}", (epoch + 1) / epochs)


def _mean(gradients: FloatArray | Factors, rows: int) -> FloatArray:
    if not isinstance(gradients, Factors):
        return np.asarray(gradients.mean(axis=0))
    parts = [(layer.slopes.T @ layer.inputs).ravel() / rows for layer in gradients.layers]
    return np.concatenate(parts)
