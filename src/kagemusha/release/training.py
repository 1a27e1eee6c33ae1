"""Learning from private rows: Poisson samples, gradients clipped per person, Gaussian noise. DP-SGD, behind the door.

Adjacency: add-remove of one person. In every step each person is in the sample with probability `rate`, decided by the
secure source. A person's gradient is the sum over their rows (at most `max_rows` of them), scaled down to L2 norm
`clip`, in steps of `clip / LATTICE` (see `clipping`): one person moves the sum, a vector of integers, by at most
LATTICE. Noise of deviation `noise · LATTICE` makes each step a sampled Gaussian mechanism. Cost: one
`SampledGaussianEvent` for all steps, charged before the first row is read.

A learner may draw numbers of its own for every row (the noise of a variational code). They come from a fresh generator
in every step, seeded by the secure source, and are forgotten: give each person the same draws in both worlds, and the
bound above holds for every such coupling. From a public seed it would not: one person more would shift everybody's
draws.

What is as good as a double, and no better: the noise (Gaussian to 53 bits, rounded to the lattice; the exact sampler of
all other releases would take hours for millions of draws), and that the gradient of a row does not depend on who else
is in the sample, of which the processor's arithmetic leaves the last digits open. The certificate says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.neural.draws import draws_of
from kagemusha.neural.factors import Factors
from kagemusha.privacy.budget import Adjacency, QueryRecord
from kagemusha.privacy.events import SampledGaussianEvent
from kagemusha.progress import Progress
from kagemusha.release.clipping import CLIP_LATTICE, SAMPLE_ROWS, clipped_sum, factored_sum
from kagemusha.release.release import Release
from kagemusha.sources.protocol import Source

MOST_NUMBERS = 1 << 25
"""Per-example gradients, or factors of them, held at once (256 MB): larger samples are worked off in parts."""


@dataclass(frozen=True)
class TrainingSchedule:
    """What is decided before the first step: nothing in it may depend on the data.

    `noise` is the deviation of the noise in clip norms. `batch` is about how many persons a sample holds, for the size
    of steps: a public number, or one that was paid for. `every` is how many steps lie between two checkpoints.
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
        for name, value in {"clip": self.clip, "noise": self.noise, "batch": self.batch}.items():
            if not (value > 0 and np.isfinite(value)):
                raise UsageError(f"{name} must be positive and finite, got {value}")

    def event(self, what: str) -> SampledGaussianEvent:
        """The one event the whole schedule is charged as."""
        asked = QueryRecord.of("gradients", {"lattice": CLIP_LATTICE}, "")
        return SampledGaussianEvent(what=what, steps=self.steps, rate=self.rate, noise=self.noise, query=asked)


class Learner(Protocol):
    """A model in training.

    `gradients` sees private rows and must keep nothing of them; all else sees noisy sums only.
    """

    @property
    def parameters(self) -> int:
        """Length of a gradient."""
        ...

    @property
    def width(self) -> int:
        """Numbers that `gradients` holds for a row: all parameters, or the sides of its factors."""
        ...

    def gradients(self, codes: IntArray, rng: np.random.Generator) -> FloatArray | Factors:
        """The loss's gradient at every row, one row each, at the current parameters; written out, or as factors.

        A row's gradient must depend on that row, the parameters and the row's own draws from `rng` alone.
        """
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
    watch: Watch,
) -> None:
    """See `Curator.train`; `watch` sees every step, for audits."""
    if release.unit.relation is not Adjacency.ADD_REMOVE:
        raise PrivacyError("training on Poisson samples has a guarantee under add-remove adjacency only")
    if release.unit.rows > 1 and source.schema.unit.column is None:
        raise PrivacyError(
            "training protects persons by clipping all rows of a person together: the schema's [unit] must name a "
            "column"
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
    rows = PersonRows(source)
    for step in range(start, schedule.steps):
        taken = _step(release, rows, schedule, learner)
        watch(learner, schedule, rows, taken)
        learner.update(np.asarray(taken.noisy * (schedule.clip / CLIP_LATTICE / schedule.batch), dtype=np.float64))
        progress(f"{what}: epoch {math.ceil((step + 1) * schedule.rate - 1e-9)}", (step + 1) / schedule.steps)
        if (step + 1) % schedule.every == 0 and step + 1 < schedule.steps:
            release.ledger.save_checkpoint(release.id, key, step + 1, learner.state())
    learner.restore(release.ledger.publish(release.id, {key: learner.state()})[key])


class PersonRows:
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


@dataclass(frozen=True, eq=False)
class Step:
    """One step as it was made: who was in the sample, the exact sum and the noisy one. All but the last is private."""

    sampled: IntArray
    exact: IntArray
    noisy: IntArray
    seed: int
    """Of the learner's own draws."""


Watch = Callable[[Learner, TrainingSchedule, PersonRows, Step], None]


def _step(release: Release, rows: PersonRows, schedule: TrainingSchedule, learner: Learner) -> Step:
    sampled = np.flatnonzero(release.noise.poisson_sample(schedule.rate, rows.persons))
    if int((rows.first[sampled + 1] - rows.first[sampled]).sum()) > SAMPLE_ROWS:
        raise PrivacyError(f"more than {SAMPLE_ROWS:,} rows in a sample: take a smaller rate")
    seed = release.noise.seed()
    exact = gradient_sum(learner, rows, sampled, schedule.clip, draws_of(seed))
    noisy = exact + release.noise.fast_gaussian(schedule.noise * CLIP_LATTICE, learner.parameters)
    return Step(sampled, exact, noisy, seed)


def gradient_sum(
    learner: Learner, rows: PersonRows, persons: IntArray, clip: float, rng: np.random.Generator
) -> IntArray:
    """The exact, private sum of these persons' clipped gradients, in steps of the lattice."""
    whole = np.zeros(learner.parameters, dtype=np.int64)
    floating: FloatArray | None = None
    for part in _parts(rows, persons, learner.width):
        codes, whose = rows.of(part)
        gradients = learner.gradients(codes, rng)
        if isinstance(gradients, Factors):
            found = factored_sum(gradients, whose, len(part), clip)
            floating = found if floating is None else floating + found
        else:
            whole += clipped_sum(gradients, whose, len(part), clip)
    return whole if floating is None else whole + np.rint(floating).astype(np.int64)


def _parts(rows: PersonRows, persons: IntArray, width: int) -> Iterator[IntArray]:
    """The sample in parts whose gradients fit into memory."""
    most = max(1, MOST_NUMBERS // width)
    counts = np.cumsum(rows.first[persons + 1] - rows.first[persons])
    begin = 0
    while begin < len(persons):
        before = int(counts[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(counts, before + most, side="right")))
        yield persons[begin:end]
        begin = end
