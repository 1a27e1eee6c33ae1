"""Learning from private rows: Poisson samples, gradients clipped per person, Gaussian noise. DP-SGD, behind the door.

Adjacency: add-remove of one person. In every step each person is in the sample with probability `rate`, decided by the
secure source. A person's gradient is the sum over their rows (at most `max_rows` of them), scaled down to L2 norm
`clip`, and rounded towards zero to whole multiples of `clip / LATTICE`: what one person adds to the sum is a vector of
integers of norm at most LATTICE, and sums of integers are exact. Noise of deviation `noise · LATTICE` makes each step
a sampled Gaussian mechanism. Cost: one `SampledGaussianEvent` for all steps, charged before the first row is read.

The noise is Gaussian to the precision of a double, rounded to the same lattice: not the exact sampler of all other
releases, which would take hours for millions of draws. The certificate says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.privacy.asked import Asked
from kagemusha.privacy.events import SampledGaussianEvent
from kagemusha.privacy.unit import Adjacency
from kagemusha.progress import Progress
from kagemusha.release.release import Release
from kagemusha.sources.protocol import Source

LATTICE = 2**20
"""The clip norm in steps of the lattice that gradients and noise live on."""

MOST_NUMBERS = 1 << 25
"""Per-example gradients held at once (256 MB): larger samples are worked off in parts."""


@dataclass(frozen=True)
class TrainingSchedule:
    """What is decided before the first step: nothing in it may depend on the data.

    `noise` is the deviation of the noise in clip norms. `batch` is about how many persons a sample holds, for the size of
    steps: a public number, or one that was paid for. `every` is how many steps lie between two checkpoints.
    """

    steps: int
    rate: float
    clip: float
    noise: float
    batch: float
    every: int = 50

    def __post_init__(self) -> None:
        if not self.steps >= 1:
            raise UsageError(f"steps must be at least 1, got {self.steps}")
        if not 0 < self.rate <= 1:
            raise UsageError(f"rate must be greater than 0 and at most 1, got {self.rate}")
        for name in ("clip", "noise", "batch"):
            if not (getattr(self, name) > 0 and np.isfinite(getattr(self, name))):
                raise UsageError(f"{name} must be positive and finite, got {getattr(self, name)}")

    def event(self, what: str) -> SampledGaussianEvent:
        """The one event the whole schedule is charged as."""
        asked = Asked.of("gradients", {"lattice": LATTICE}, "")
        return SampledGaussianEvent(what=what, steps=self.steps, rate=self.rate, noise=self.noise, query=asked)


class Learner(Protocol):
    """A model in training. `gradients` sees private rows and must keep nothing of them; all else sees noisy sums only."""

    @property
    def parameters(self) -> int:
        """Length of a gradient."""
        ...

    def gradients(self, codes: IntArray) -> FloatArray:
        """The loss's gradient at every row, one row each, at the current parameters."""
        ...

    def update(self, gradient: FloatArray) -> None:
        """Take a step with a noisy sum of clipped gradients, divided by the schedule's `batch`."""
        ...

    def state(self) -> bytes:
        """Everything needed to go on: parameters and the optimiser's memory, all of it made of noisy sums."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        ...


def train(
    release: Release,
    source: Source,
    schedule: TrainingSchedule,
    learner: Learner,
    *,
    what: str,
    progress: Progress,
) -> None:
    """See `Curator.train`."""
    if release.unit.relation is not Adjacency.ADD_REMOVE:
        raise PrivacyError("training on Poisson samples has a guarantee under add-remove adjacency only")
    if release.unit.rows > 1 and source.schema.unit.column is None:
        raise PrivacyError(
            "training protects persons by clipping all rows of a person together: the schema's [unit] must name a column"
        )
    (key,) = release.charge([schedule.event(what)])
    finished = release.ledger.answer(release.id, key)
    if finished is not None:
        learner.restore(finished)
        return
    begun = release.ledger.checkpoint(release.id, key)
    start = 0
    if begun is not None:
        start, state = begun
        learner.restore(state)
    rows = _Rows(source)
    for step in range(start, schedule.steps):
        learner.update(_noisy_gradient(release, rows, schedule, learner))
        progress(what, (step + 1) / schedule.steps)
        if (step + 1) % schedule.every == 0 and step + 1 < schedule.steps:
            release.ledger.save_checkpoint(release.id, key, step + 1, learner.state())
    learner.restore(release.ledger.publish(release.id, {key: learner.state()})[key])


class _Rows:
    """The private table as compact codes, with the person each row belongs to."""

    def __init__(self, source: Source) -> None:
        self.columns, person = source.records()
        self.persons = int(person.max()) + 1 if len(person) else 0
        self.order: IntArray = np.argsort(person, kind="stable")
        self.first: IntArray = np.searchsorted(person[self.order], np.arange(self.persons + 1))

    def of(self, persons: IntArray) -> tuple[IntArray, IntArray]:
        """Codes of all rows of these persons, and for each row whose it is (a position in `persons`)."""
        counts = self.first[persons + 1] - self.first[persons]
        whose = np.repeat(np.arange(len(persons)), counts)
        within = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.order[np.repeat(self.first[persons], counts) + within]
        codes = np.empty((len(rows), len(self.columns)), dtype=np.int64)
        for axis, column in enumerate(self.columns):
            codes[:, axis] = column[rows]
        return codes, whose


def _noisy_gradient(release: Release, rows: _Rows, schedule: TrainingSchedule, learner: Learner) -> FloatArray:
    sampled = np.flatnonzero(release.noise.poisson_sample(schedule.rate, rows.persons))
    total = np.zeros(learner.parameters, dtype=np.int64)
    for part in _parts(rows, sampled, learner.parameters):
        codes, whose = rows.of(part)
        total += clipped_sum(learner.gradients(codes), whose, len(part), schedule.clip)
    total += release.noise.fast_gaussian(schedule.noise * LATTICE, learner.parameters)
    return np.asarray(total * (schedule.clip / LATTICE / schedule.batch), dtype=np.float64)


def _parts(rows: _Rows, persons: IntArray, parameters: int) -> Iterator[IntArray]:
    """The sample in parts whose gradients fit into memory."""
    most = max(1, MOST_NUMBERS // parameters)
    counts = np.cumsum(rows.first[persons + 1] - rows.first[persons])
    begin = 0
    while begin < len(persons):
        before = int(counts[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(counts, before + most, side="right")))
        yield persons[begin:end]
        begin = end


def clipped_sum(gradients: FloatArray, whose: IntArray, persons: int, clip: float) -> IntArray:
    """Σ over persons of their clipped gradient, in whole steps of the lattice.

    A gradient that is not a number counts as zero: a person must not be able to move the sum by more than the clip.
    """
    gradients = np.nan_to_num(gradients, nan=0.0, posinf=0.0, neginf=0.0)
    if len(whose) > persons:
        summed = np.zeros((persons, gradients.shape[1]))
        np.add.at(summed, whose, gradients)
        gradients = summed
    norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients, dtype=np.float64))
    # a hair less than one: rounding of norm and product must not lead beyond the clip
    scale = LATTICE / clip * np.minimum(1.0, clip / np.maximum(norms, 1e-300)) * (1 - 1e-9)
    steps = np.trunc(gradients * scale[:, None])
    return np.asarray(steps.sum(axis=0), dtype=np.int64)
