"""An audit of two worlds: the strongest statement about our own methods, from thousands of tiny runs.

The worst case: a tiny table made to hurt, an attacker who knows every row but one person's and sees every released number, not
only the doubles. For each answer and each choice both worlds' exact values are known, so the score of a run is its privacy loss,
the best score there is (Neyman and Pearson). An audit never proves a promise; it bounds how wrong it can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.attacks.risk import Proved, proved
from kagemusha.attacks.scratch import scratch_release
from kagemusha.attacks.worst_case import worst_case
from kagemusha.marginals import Marginal
from kagemusha.neural.draws import draws_of
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import ExponentialEvent, GaussianEvent, GenerationEvent, LaplaceEvent
from kagemusha.privacy.generation.rows import LATTICE_BITS
from kagemusha.progress import Progress, silent
from kagemusha.queries.query import Choice, Query
from kagemusha.release.clipping import LATTICE
from kagemusha.release.curator import Curator
from kagemusha.release.release import Release
from kagemusha.release.rows import cliques_of, secret_of
from kagemusha.release.training import Learner, Rows, Step, TrainingSchedule, Watch, gradient_sum
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique
from kagemusha.schema.features import Features, features_of
from kagemusha.sources.protocol import Source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.protocol import Synthesizer

Released = TypeVar("Released")
Given = TypeVar("Given")

LEAST = 1e-4
"""A run ends when less than this part of its budget is left: what is made of the answers tells nothing more."""


class Spent(Exception):
    """All that can be seen has been seen."""


class Shoulder(Curator):
    """A Curator that is watched: `loss` grows by the log-likelihood ratio of every answer, with the person against without.

    `measured` and `chosen` grow by the μ² that the person's part in each noisy answer is worth, and by twice the divergence of each choice:
    what an attacker with endless runs could reach, and by which way.
    """

    def __init__(self, source: Source, release: Release, worlds: tuple[Source, Source]) -> None:
        super().__init__(source, release)
        self.worlds = worlds
        self.loss = self.measured = self.chosen = 0.0
        self._rows: list[FloatArray] = []

    def answer(
        self, queries: Sequence[Query[Released]], cost: float | Sequence[float], *, mechanism: str = "gaussian"
    ) -> list[Released]:
        """As always; ends the run when all is spent."""
        return self._unless_spent(super().answer(queries, cost, mechanism=mechanism))

    def choose(self, query: Choice[object], cost: float) -> int:
        """As always; ends the run when all is spent."""
        return self._unless_spent(super().choose(query, cost))

    def train(self, schedule: TrainingSchedule, learner: Learner, *, what: str, progress: Progress = silent) -> None:
        """As always; ends the run when all is spent."""
        self._unless_spent(super().train(schedule, learner, what=what, progress=progress))

    def _unless_spent(self, given: Given) -> Given:
        if self.remaining <= LEAST * self.total:
            raise Spent
        return given

    def _answered(self, query: Query[object], event: GaussianEvent | LaplaceEvent, values: IntArray) -> None:
        without, inside = (values - self._other(query, world) for world in self.worlds)
        if isinstance(event, GaussianEvent):
            self.measured += float(((without - inside).astype(float) ** 2).sum()) / event.sigma**2
        if isinstance(event, LaplaceEvent):
            self.loss += float(np.abs(without).sum() - np.abs(inside).sum()) / event.scale
        else:
            # both laws of Gaussian noise have this ratio, up to rounding
            self.loss += float((without.astype(float) ** 2).sum() - (inside.astype(float) ** 2).sum()) / (
                2 * event.sigma**2
            )

    def _chose(self, query: Choice[object], event: ExponentialEvent, at: int) -> None:
        scale = 2 * self.unit.sensitivity(query.reach).each / event.epsilon
        without, inside = (self._other(query, world).astype(float) / scale for world in self.worlds)
        odds = inside - np.logaddexp.reduce(inside) - without + np.logaddexp.reduce(without)
        self.loss += float(odds[at])
        self.chosen += 2 * float(np.exp(inside - np.logaddexp.reduce(inside)) @ odds)

    def _drawn(self, drawn: IntArray) -> None:
        self._rows.append(drawn.astype(float) * 2.0**-LATTICE_BITS)

    def _generated(self, event: GenerationEvent) -> None:
        """The loss of rows before they became codes, for an attacker who takes any noise on mean and covariance for none.

        Without such noise this is the privacy loss itself; with it, a score like any other.
        """
        features = features_of(self.schema)
        rows = np.concatenate(self._rows)
        without, inside = (
            secret_of(features, self._counted_in(world, features), event.at_least).normal(event)
            for world in self.worlds
        )
        self.loss += log_density(rows, *inside) - log_density(rows, *without)
        self.measured += 0.0 if event.noise else 2 * len(rows) * divergence(inside, without)

    def _counted_in(self, world: Source, features: Sequence[Features]) -> dict[Clique, Marginal]:
        cliques = cliques_of(features)
        return dict(zip(cliques, world.count(cliques), strict=True))

    @property
    def _watch(self) -> Watch:
        return self._stepped

    def _stepped(self, learner: Learner, schedule: TrainingSchedule, rows: Rows, step: Step) -> None:
        """The loss of a step for an attacker who knows the parameters, everybody else in the sample and all their draws.

        With the person, the sum is that of the others with probability 1 − rate, and has the person's gradient g besides with
        probability rate; without, it is that of the others: L = log(1 − rate + rate·exp((2x·g − ‖g‖²)/2s²)).
        """
        with_person = Rows(self.worlds[1])
        person = with_person.persons - 1
        others = step.sampled[step.sampled != person]
        # the person comes last, so that everybody else has the same draws with them and without
        without, inside = (
            gradient_sum(learner, with_person, sampled, schedule.clip, draws_of(step.seed))
            for sampled in (others, np.append(others, person))
        )
        own, apart = (inside - without).astype(float), (step.noisy - without).astype(float)
        scale = schedule.noise * LATTICE
        exponent = (2 * float(apart @ own) - float(own @ own)) / (2 * scale**2)
        self.loss += float(np.logaddexp(np.log1p(-schedule.rate), np.log(schedule.rate) + exponent))

    def _other(self, query: Query[object], world: Source) -> IntArray:
        counted = dict(zip(query.cliques(), world.count(list(query.cliques())), strict=True)) if query.cliques() else {}
        swapped, self._source = self._source, world
        try:
            return self._exact(query, counted)
        finally:
            self._source = swapped


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


@dataclass(frozen=True)
class Audit:
    """What came out, beside what was promised."""

    found: Proved
    budget: Budget
    method: str
    mean_loss: tuple[float, float]
    """Mean privacy loss without and with the person: −μ²/2 and μ²/2 for a Gaussian mechanism."""
    reach: tuple[float, float] = (0.0, 0.0)
    """What endless runs could prove, as μ²: by noisy answers, and by choices. Zero where runs are judged from end to end."""

    @property
    def reachable_mu(self) -> float:
        """The μ that endless runs could prove on this table."""
        return math.sqrt(sum(self.reach))

    @property
    def promised_mu(self) -> float:
        """The μ that (ε, δ) allows a Gaussian mechanism."""
        return gdp_mu(self.budget.epsilon, self.budget.delta)

    @property
    def verdict(self) -> str:
        """In words."""
        if self.found.epsilon > self.budget.epsilon or self.found.mu > self.promised_mu * 1.0000001:
            return "BROKEN: these runs contradict the promise"
        share = self.found.mu / self.promised_mu
        if share < 0.3:
            return f"not contradicted, but this audit was too weak to tell: it proves {100 * share:.0f} % of what was promised"
        return f"not contradicted: what is proved is {100 * share:.0f} % of what was promised"


def audit(
    make: Callable[[], Synthesizer],
    budget: Budget,
    *,
    runs: int = 2000,
    seed: int = 0,
    risk: float = 1e-4,
    discover: float | None = None,
    table: str | None = None,
    progress: Progress = silent,
) -> Audit:
    """Run a method `runs` times in each of two worlds and bound its privacy loss from below.

    With `discover`, categories are left open and found with that share of the budget, and the score is what the person's own
    label, which nobody else has, leaves in the model, from one end of a release to the other. `table` names one of the tables of
    `worst_case`; by default the one on which the method's promise shows most.
    """
    from kagemusha.sources import open_source

    schema, tables = worst_case(make().name, budget, table if discover is None else "three")
    worlds = (open_source(tables[0], schema), open_source(tables[1], schema))
    losses = np.empty((2, runs))
    reach = np.zeros(2)
    for run in range(runs):
        for side in range(2):
            one = [seed, run, side]
            if discover is None:
                seen = _watched(make(), worlds, side, budget, one)
                losses[side, run] = seen.loss
                reach += (seen.measured, seen.chosen)
            else:
                losses[side, run] = _label_found(make(), tables[side], schema, budget, discover, one)
        if run % 20 == 0:
            progress(f"{2 * run:,} runs", run / runs)
    # a privacy loss above 0 says "with": the best answer there is, known beforehand
    found = proved(losses[0], losses[1], delta=budget.delta, risk=risk, threshold=0.0 if discover is None else None)
    means: FloatArray = losses.mean(axis=1)
    each = reach / (2 * runs)
    return Audit(found, budget, make().name, (float(means[0]), float(means[1])), (float(each[0]), float(each[1])))


def _watched(
    synthesizer: Synthesizer, worlds: tuple[Source, Source], side: int, budget: Budget, seed: list[int]
) -> Shoulder:
    with scratch_release(synthesizer, worlds[side].schema, budget, np.random.default_rng(seed)) as release:
        curator = Shoulder(worlds[side], release, worlds)
        with suppress(Spent):
            synthesizer.build(curator)
    return curator


def _label_found(
    synthesizer: Synthesizer, table: object, schema: Schema, budget: Budget, share: float, seed: list[int]
) -> float:
    left_open = schema.replace("c", categories=None)
    number = int(np.random.default_rng(seed).integers(2**62))
    model = fit(synthesizer, table, budget, schema=left_open, simulation=number, discover=share)
    labels = list(model.schema["c"].categories or ())  # type: ignore[attr-defined]
    counts = model.project(("c",))
    # whether it was found at all, then how much of it, or of what no label holds, there is
    return 1e6 * ("w" in labels) + float(counts[labels.index("w")] if "w" in labels else counts[len(labels) :].sum())
