"""An attacker at the shoulder of a release, who knows all rows but one person's and sees answers before they are used.

For each answer and each choice both worlds' exact values are known, so the score of a run is its privacy loss, the
best score there is (Neyman and Pearson).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import Marginal
from kagemusha.neural.draws import draws_of
from kagemusha.privacy.events import ExponentialEvent, GaussianEvent, GenerationEvent, LaplaceEvent, ThresholdEvent
from kagemusha.privacy.generation.rows import LATTICE_BITS
from kagemusha.queries.query import Choice, Query
from kagemusha.release.clipping import CLIP_LATTICE
from kagemusha.release.curator import Observer, summed
from kagemusha.release.release import Release
from kagemusha.release.rows import cliques_of, secret_of
from kagemusha.release.training import Learner, PersonRows, Step, TrainingSchedule, gradient_sum
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique
from kagemusha.schema.features import Features, features_of
from kagemusha.sources.open_table import OpenTable
from kagemusha.sources.protocol import Source

LEAST = 1e-4
"""A run ends when less than this part of its budget is left: what is made of the answers tells nothing more."""


class Spent(Exception):
    """All that can be seen has been seen."""


class Shoulder(Observer):
    """`loss` grows by the log-likelihood ratio of every answer, with the person against without.

    `measured` and `chosen` grow by the μ² that the person's part in each noisy answer is worth, and by twice the
    divergence of each choice: what an attacker with endless runs could reach, and by which way.
    """

    def __init__(self, release: Release, worlds: tuple[Source, Source]) -> None:
        self.release, self.worlds = release, worlds
        self.loss = self.measured = self.chosen = 0.0

    def answered(
        self,
        queries: Sequence[Query[Any]],
        events: Sequence[GaussianEvent | LaplaceEvent],
        answers: Sequence[IntArray],
    ) -> None:
        """Ends the run when all is spent."""
        for query, event, values in zip(queries, events, answers, strict=True):
            self._one(event, *(values - _exact(query, world) for world in self.worlds))
        self._end_if_spent()

    def _one(self, event: GaussianEvent | LaplaceEvent, without: IntArray, inside: IntArray) -> None:
        if not event.bell_shaped:
            self.loss += math.sqrt(2) * float(np.abs(without).sum() - np.abs(inside).sum()) / event.deviation
            return
        self.measured += float(((without - inside).astype(float) ** 2).sum()) / event.deviation**2
        # both laws of Gaussian noise have this ratio, up to rounding
        squares = float((without.astype(float) ** 2).sum() - (inside.astype(float) ** 2).sum())
        self.loss += squares / (2 * event.deviation**2)

    def chose(self, query: Choice[object], event: ExponentialEvent, at: int) -> None:
        """Ends the run when all is spent."""
        scale = 2 * self.release.unit.sensitivity(query.sensitivity).each / event.epsilon
        without, inside = (_exact(query, world).astype(float) / scale for world in self.worlds)
        odds = inside - np.logaddexp.reduce(inside) - without + np.logaddexp.reduce(without)
        self.loss += float(odds[at])
        self.chosen += 2 * float(np.exp(inside - np.logaddexp.reduce(inside)) @ odds)
        self._end_if_spent()

    def drew(self, event: GenerationEvent, lattice: Sequence[IntArray]) -> None:
        """The loss of rows before they became codes, for an attacker who ignores noise on mean and covariance.

        Without such noise this is the privacy loss itself; with it, a score like any other.
        """
        features = features_of(self.worlds[0].schema)
        rows = np.concatenate(lattice).astype(float) * 2.0**-LATTICE_BITS
        without, inside = (
            secret_of(features, _counted(world, features), event.at_least).normal(event) for world in self.worlds
        )
        self.loss += log_density(rows, *inside) - log_density(rows, *without)
        self.measured += 0.0 if event.noise else 2 * len(rows) * divergence(inside, without)

    def stepped(self, learner: Learner, schedule: TrainingSchedule, rows: PersonRows, step: Step) -> None:
        """The loss of a step for an attacker who knows the parameters and everybody else's draws.

        With the person, the sum is that of the others with probability 1 − rate, and has the person's gradient g
        besides with probability rate; without, it is that of the others: L = log(1 − rate + rate·exp((2x·g −
        ‖g‖²)/2s²)).
        """
        with_person = PersonRows(self.worlds[1])
        person = with_person.persons - 1
        others = step.sampled[step.sampled != person]
        # the person comes last, so that everybody else has the same draws with them and without
        without, inside = (
            gradient_sum(learner, with_person, sampled, schedule.clip, draws_of(step.seed))
            for sampled in (others, np.append(others, person))
        )
        own, apart = (inside - without).astype(float), (step.noisy - without).astype(float)
        scale = schedule.noise * CLIP_LATTICE
        exponent = (2 * float(apart @ own) - float(own @ own)) / (2 * scale**2)
        self.loss += float(np.logaddexp(np.log1p(-schedule.rate), np.log(schedule.rate) + exponent))

    def _end_if_spent(self) -> None:
        if self.release.remaining <= LEAST * self.release.filter.total:
            raise Spent


class DiscoveryShoulder(Shoulder):
    """The same while categories are still being found.

    Worlds are open tables until the release has closed the schema.
    """

    def __init__(self, release: Release, tables: tuple[OpenTable, OpenTable]) -> None:
        super().__init__(release, (_Unknown(), _Unknown()))
        self._tables = tables

    def passed(self, name: str, event: ThresholdEvent, places: Sequence[str]) -> None:
        """A label whose count is c reaches the threshold T with probability Φ((c − T + ½)/σ)."""
        from scipy.special import log_ndtr

        found = [table.count_values(name) for table in self._tables]
        counts = [dict(zip(values.labels, values.counts.tolist(), strict=True)) for values in found]
        for label in counts[0].keys() | counts[1].keys():
            if any(label not in known for known in counts):
                raise Spent  # nobody else holds it: that is what δ is for, and no likelihood ratio
            sign = 1 if label in places else -1
            reached = [sign * (known[label] - event.threshold + 0.5) / event.sigma for known in counts]
            self.loss += float(log_ndtr(reached[1]) - log_ndtr(reached[0]))
            self.measured += (counts[1][label] - counts[0][label]) ** 2 / event.sigma**2

    def close(self, schema: Schema) -> None:
        """From here on the worlds are tables with this schema."""
        self.worlds = (self._tables[0].with_schema(schema), self._tables[1].with_schema(schema))


class _Unknown(Source):
    """No table yet."""

    @property
    def schema(self) -> Schema:
        """None."""
        raise LookupError("the schema is still open")

    def batches(self) -> Any:
        """None."""
        raise LookupError("the schema is still open")

    def records(self) -> Any:
        """None."""
        raise LookupError("the schema is still open")


def _exact(query: Query[Any], world: Source) -> IntArray:
    return query.exact(world.count(list(query.cliques())) if query.cliques() else [], lambda part: summed(world, part))


def _counted(world: Source, features: Sequence[Features]) -> dict[Clique, Marginal]:
    cliques = cliques_of(features)
    return dict(zip(cliques, world.count(cliques), strict=True))


def divergence(one: tuple[FloatArray, FloatArray], two: tuple[FloatArray, FloatArray]) -> float:
    """Kullback and Leibler's, of two normal distributions given by mean and factor."""
    (mean, factor), (other, wider) = one, two
    moved, gap = np.linalg.solve(wider, factor), np.linalg.solve(wider, mean - other)
    volume = np.linalg.slogdet(wider)[1] - np.linalg.slogdet(factor)[1]
    return float(((moved**2).sum() - len(mean) + gap @ gap) / 2 + volume)


def log_density(rows: FloatArray, mean: FloatArray, factor: FloatArray) -> float:
    """Σ log N(row; mean, factor·factorᵀ), without the constant of 2π."""
    whitened = np.linalg.solve(factor, (rows - mean).T)
    return float(-0.5 * (whitened**2).sum() - len(rows) * np.linalg.slogdet(factor)[1])
