"""How the deep methods spend (ε, δ): Gaussian steps of fixed shares, and training with the noise that is left to pay.

Everything is fixed before the first read, so that numerical composition (PLD) holds for all of it at once. A share is
of ρ, where all of ρ is that of the Gaussian mechanism that (ε, δ) allows; what the noise of training costs is found by
search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import PLD, gdp_mu
from kagemusha.privacy.budget import Adjacency, Budget, QueryFact
from kagemusha.privacy.events import Event, GaussianEvent, SampledGaussianEvent
from kagemusha.privacy.query_kinds import record_sensitivity
from kagemusha.queries.query import Query
from kagemusha.release.curator import gaussian_event
from kagemusha.release.training import TrainingSchedule

CLOSE = 0.003
"""The search for the noise ends when it uses all but this part of ε."""


@dataclass(frozen=True)
class GaussianStep:
    """One Gaussian release: what it is called, how far a record moves it (squared), and its share of ρ."""

    what: str
    norm: int
    share: float


@dataclass(frozen=True)
class TrainingPlan:
    """Public choices of training: how likely a person is in a sample, for how many passes, and the clip."""

    rate: float
    epochs: float
    clip: float = 1.0

    @property
    def steps(self) -> int:
        """Samples in all."""
        return max(1, round(self.epochs / self.rate))


@dataclass(frozen=True)
class Spending:
    """The schedule of a method for a budget."""

    gaussian: Sequence[GaussianStep]
    training: TrainingPlan
    budget: Budget

    @property
    def rho(self) -> float:
        """All of ρ, of which the shares are parts."""
        return gdp_mu(self.budget.epsilon, self.budget.delta) ** 2 / 2

    def cost(self, share: float) -> float:
        """What a step of a share costs."""
        return share * self.rho

    def noise(self) -> float:
        """The noise of training, in clips."""
        paid = sum(event.rho for event in self._gaussian_events())
        training = self.training
        return solved_noise(float(paid), training.rate, training.steps, self.budget.epsilon, self.budget.delta)

    def schedule(self, batch: float = 1.0) -> TrainingSchedule:
        """Training, at about so many persons a sample."""
        steps = self.training.steps
        return TrainingSchedule(
            steps, self.training.rate, self.training.clip, self.noise(), max(1.0, batch), every=max(10, steps // 10)
        )

    def events(self, what: str) -> list[Event]:
        """All that will happen, in its order."""
        if self.budget.adjacency is not Adjacency.ADD_REMOVE:
            raise UsageError(
                "adjacency must be 'add-remove' for methods that train on samples: nothing is known of exchanged "
                "persons"
            )
        return [*self._gaussian_events(), self.schedule().event(what)]

    def _gaussian_events(self) -> list[GaussianEvent]:
        rows = self.budget.rows
        return [
            gaussian_event(step.what, rows**2 * step.norm, self.cost(step.share), "rounded") for step in self.gaussian
        ]


def norm_of(query: type[Query[object]], **facts: QueryFact) -> int:
    """The squared norm that one record's vector has at most, in any query of a kind."""
    return record_sensitivity(query.kind, {"entries": 1, **facts}).added.l2_squared


@lru_cache(maxsize=256)
def solved_noise(paid: float, rate: float, steps: int, epsilon: float, delta: float) -> float:
    """The least noise (to CLOSE of ε) with which `steps` samples and Gaussian steps of ρ = `paid` keep (ε, δ) by PLD.

    False position on log ε against log noise, between one noise that fits and one that does not.
    """

    def total(noise: float) -> float:
        events: list[Event] = [SampledGaussianEvent(what="", steps=steps, rate=rate, noise=noise)]
        if paid:
            events.append(GaussianEvent(what="", sigma=math.sqrt(1 / (2 * paid)), l2_squared=1, noise="rounded"))
        # the same grid as the filter's, so that what fits here fits there
        return PLD().epsilon(events, delta)

    # a first guess: sampled steps as if they were Gaussian ones of rate²·(e^{1/noise²} − 1)/2
    left = max(gdp_mu(epsilon, delta) ** 2 / 2 - paid, 1e-15)
    guess = max(0.3, 1 / math.sqrt(math.log1p(2 * left / (steps * rate**2))))
    low, high = None, None
    noise = guess
    for _ in range(60):
        found = total(noise)
        if found <= epsilon:
            high = (noise, found)
            if found >= epsilon * (1 - CLOSE) or noise <= 0.05:
                return noise
        else:
            low = (noise, found)
        if low is None:
            noise *= max(0.5, (found / epsilon) ** 0.8 * 0.995)
        elif high is None:
            noise *= min(4.0, (found / epsilon) ** 0.8 * 1.005)
            if noise > 1e9:
                raise UsageError(f"no noise keeps ε = {epsilon:g} with shares this large")
        else:
            # aim a little to the safe side of the target
            aim = math.log(epsilon * (1 - CLOSE / 2))
            a, b = math.log(low[1]), math.log(max(high[1], 1e-12))
            part = min(0.9, max(0.1, (a - aim) / (a - b))) if a > b else 0.5
            noise = math.exp(math.log(low[0]) + part * (math.log(high[0]) - math.log(low[0])))
            if high[0] / low[0] < 1 + 1e-6:
                return high[0]
    raise UsageError(f"no noise was found that keeps ε = {epsilon:g}")
