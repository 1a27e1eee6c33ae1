"""What happened to the private data: one immutable event for every read.

An event says *what was done*; accountants say *what it costs*. The meaning of a kind or of a parameter never
changes once released, because certificates are re-checked years later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from kagemusha.errors import VerifyError
from kagemusha.privacy.budget import Adjacency, PrivacyUnit, QueryRecord, is_whole
from kagemusha.privacy.distributions import bounded_range, sampled_gaussian
from kagemusha.privacy.event import Event as Event
from kagemusha.privacy.generation_event import GenerationEvent as GenerationEvent
from kagemusha.privacy.noisy_events import GaussianEvent as GaussianEvent
from kagemusha.privacy.noisy_events import LaplaceEvent as LaplaceEvent
from kagemusha.privacy.noisy_events import ThresholdEvent as ThresholdEvent
from kagemusha.privacy.noisy_events import normal_tail as normal_tail
from kagemusha.privacy.noisy_events import threshold_failure as threshold_failure
from kagemusha.privacy.renyi import sampled_gaussian_renyi


@dataclass(frozen=True, kw_only=True)
class ExponentialEvent(Event):
    """The exponential mechanism at `epsilon` over `candidates` public options: ε-DP and ε-bounded-range."""

    kind: ClassVar[str] = "exponential"
    epsilon: float
    candidates: int

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and math.isfinite(self.epsilon) and self.candidates >= 1):
            raise ValueError(f"not an exponential event: {self.epsilon}, {self.candidates} candidates")

    @property
    def pure_epsilon(self) -> Fraction:
        return Fraction(self.epsilon)

    @property
    def rho(self) -> Fraction:
        """ε²/8 by bounded range (Cesar–Rogers 2021)."""
        return Fraction(self.epsilon) ** 2 / 8

    @property
    def noise_in_words(self) -> str:
        """How much chance there is in it."""
        return f"random choice, ε = {self.epsilon:.4g}"

    @property
    def gaussian_rho(self) -> None:
        """It has a distribution of its own."""
        return None

    @property
    def spread(self) -> float:
        """From −ε to ε."""
        return 2 * self.epsilon

    def losses(self, interval: float) -> Any:
        """That of every mechanism of bounded range."""
        return bounded_range(self.epsilon, interval)

    def _moves_otherwise(self, unit: PrivacyUnit, query: QueryRecord) -> str:
        same = dict(query.facts).get("candidates") == self.candidates
        return "" if same else "not as many candidates as its query has"


@dataclass(frozen=True, kw_only=True)
class SampledGaussianEvent(Event):
    """`steps` sums over Poisson samples, each with Gaussian noise of `noise` times what one person can move it.

    Every person is in a step's sample with probability `rate`, independently of all others. Add-remove only: nothing is
    known of exchanged persons under Poisson sampling. There is no finite ρ, so no zCDP filter can hold it; it is part
    of a schedule that was declared beforehand.
    """

    kind: ClassVar[str] = "sampled-gaussian"
    steps: int
    rate: float
    noise: float

    def __post_init__(self) -> None:
        if not (is_whole(self.steps) and self.steps >= 1):
            raise ValueError(f"steps must be a whole number of at least 1, got {self.steps!r}")
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate must be greater than 0 and at most 1, got {self.rate}")
        if not (self.noise > 0 and math.isfinite(self.noise)):
            raise ValueError(f"noise must be positive and finite, got {self.noise}")

    @property
    def rho(self) -> Fraction | None:
        """Finite where everybody is in every sample: then it is a Gaussian mechanism, so many times."""
        return Fraction(self.steps) / (2 * Fraction(self.noise) ** 2) if self.rate == 1 else None

    def renyi(self, alpha: float) -> float:
        """Rényi DP of the sampled Gaussian mechanism (Mironov, Talwar and Zhang 2019), step by step."""
        if self.rate == 1:
            return super().renyi(alpha)
        return self.steps * sampled_gaussian_renyi(alpha, self.rate, self.noise)

    @property
    def noise_in_words(self) -> str:
        """Scale, and how many samples."""
        return f"Gaussian, {self.noise:.4g} clip norms, {self.steps:,} samples of {100 * self.rate:.3g} % each"

    @property
    def sampled_steps(self) -> int:
        """All of them."""
        return self.steps

    @property
    def about_rho(self) -> float:
        """By the first terms of its Rényi curve."""
        if self.rate == 1:
            return super().about_rho
        return self.steps * self.rate**2 * math.expm1(min(50.0, self.noise**-2)) / 2

    @property
    def spread(self) -> float:
        """Of one step."""
        return 1 / self.noise**2 + 25 / self.noise

    def losses(self, interval: float) -> Any:
        return sampled_gaussian(self.noise, self.rate, self.steps, interval)

    def _moves_otherwise(self, unit: PrivacyUnit, query: QueryRecord) -> str:
        # noise is in clip norms, which is what a person can move a step by
        fits = unit.relation is Adjacency.ADD_REMOVE
        return "" if fits else "sampled steps have a guarantee under add-remove adjacency only"


@dataclass(frozen=True, kw_only=True)
class UnprotectedEvent(Event):
    """A read with no protection at all: from here on ε = ∞."""

    kind: ClassVar[str] = "unprotected"
    reason: str

    @property
    def rho(self) -> None:
        """No guarantee."""
        return None

    @property
    def noise_in_words(self) -> str:
        """None."""
        return "none"

    @property
    def is_protected(self) -> bool:
        """No."""
        return False

    @property
    def broken_because(self) -> str:
        """The reason that was given."""
        return self.reason

    def fault(self, unit: PrivacyUnit) -> str:
        """The whole table answers no query."""
        return "" if self.query is None else "a read without protection answers no query"


_KINDS: dict[str, type[Event]] = {
    cls.kind: cls
    for cls in (
        GaussianEvent,
        LaplaceEvent,
        ExponentialEvent,
        ThresholdEvent,
        SampledGaussianEvent,
        GenerationEvent,
        UnprotectedEvent,
    )
}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """Rebuild an event; an unknown kind or a wrong field is a VerifyError, never a guess."""
    cls = _KINDS.get(str(data.get("kind")))
    if cls is None:
        raise VerifyError(f"unknown kind of event {data.get('kind')!r}; known: {', '.join(_KINDS)}")
    given = {key: value for key, value in data.items() if key != "kind"}
    known = {field.name for field in fields(cls)}
    if not known - cls.optional <= set(given) <= known:
        raise VerifyError(f"an event of kind {cls.kind!r} has the wrong fields: {', '.join(sorted(given))}")
    if "query" in given:
        given["query"] = QueryRecord.from_json(given["query"])
    try:
        return cls(**given)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise VerifyError(f"an event of kind {cls.kind!r} is malformed: {error}") from None
