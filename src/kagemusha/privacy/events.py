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
from kagemusha.privacy.distributions import bounded_range, pure, sampled_gaussian
from kagemusha.privacy.event import Event as Event
from kagemusha.privacy.generation_event import GenerationEvent as GenerationEvent
from kagemusha.privacy.query_record import QueryRecord, is_whole
from kagemusha.privacy.renyi import pure_renyi, sampled_gaussian_renyi
from kagemusha.privacy.unit import Adjacency, PrivacyUnit, Sensitivity


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Integer Gaussian noise of scale `sigma` on a query of squared L2 sensitivity `l2_squared`.

    `noise` is "discrete" (the discrete Gaussian: ρ-zCDP, Canonne–Kamath–Steinke 2020) or "rounded" (a Gaussian
    rounded to integers: post-processing of the Gaussian mechanism, hence ρ-zCDP *and* √(2ρ)-Gaussian DP).
    """

    kind: ClassVar[str] = "gaussian"
    sigma: float
    l2_squared: int
    noise: str = "discrete"

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise ValueError(f"sigma must be positive and finite, got {self.sigma}")
        if self.l2_squared < 1 or self.noise not in ("discrete", "rounded"):
            raise ValueError(f"not a Gaussian event: l2_squared={self.l2_squared}, noise={self.noise!r}")

    @property
    def rho(self) -> Fraction:
        """l2² / 2σ²."""
        return Fraction(self.l2_squared) / (2 * Fraction(self.sigma) ** 2)

    @property
    def is_gaussian(self) -> bool:
        """Only rounded noise is exactly Gaussian-DP; the discrete Gaussian's profile differs between its atoms."""
        return self.noise == "rounded"

    @property
    def has_known_profile(self) -> bool:
        """Not of discrete noise."""
        return self.is_gaussian

    @property
    def noise_in_words(self) -> str:
        """Its law and scale."""
        return f"Gaussian, σ = {self.sigma:.4g}"

    @property
    def deviation(self) -> float:
        """σ; the discrete laws are within a rounding of it."""
        return self.sigma

    @property
    def bell_shaped(self) -> bool:
        """Yes."""
        return True

    def _states_otherwise(self, moves: Sensitivity) -> str:
        return _other_norm(self.l2_squared, moves)


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(Event):
    """Discrete Laplace noise of scale `scale` on an integer query of L1 sensitivity `l1`."""

    kind: ClassVar[str] = "laplace"
    scale: float
    l1: int

    def __post_init__(self) -> None:
        if not (self.scale > 0 and math.isfinite(self.scale) and self.l1 >= 1):
            raise ValueError(f"not a Laplace event: scale={self.scale}, l1={self.l1}")

    @property
    def pure_epsilon(self) -> Fraction:
        """l1 / b."""
        return Fraction(self.l1) / Fraction(self.scale)

    @property
    def rho(self) -> Fraction:
        """ε²/2 (Bun–Steinke 2016)."""
        return self.pure_epsilon**2 / 2

    def renyi(self, alpha: float) -> float:
        """Never more than ε-DP allows."""
        return min(super().renyi(alpha), pure_renyi(alpha, float(self.pure_epsilon)))

    @property
    def noise_in_words(self) -> str:
        """Its law and scale."""
        return f"Laplace, scale {self.scale:.4g}"

    @property
    def deviation(self) -> float:
        """√2 scales."""
        return math.sqrt(2) * self.scale

    @property
    def gaussian_rho(self) -> None:
        """It has a distribution of its own."""
        return None

    @property
    def spread(self) -> float:
        """From −ε to ε."""
        return 2 * float(self.pure_epsilon)

    def losses(self, interval: float) -> Any:
        """That of every ε-DP mechanism."""
        return pure(float(self.pure_epsilon), interval)

    def _states_otherwise(self, moves: Sensitivity) -> str:
        return "" if self.l1 == max(1, moves.l1) else f"l1 = {self.l1}, recomputed {moves.l1}"


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
        """ε."""
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
class ThresholdEvent(Event):
    """Partition selection: integer Gaussian noise on the counts of all values seen, released from a threshold on.

    A value that only one person holds, in up to `rows` rows, is released with probability at most `failure`; otherwise
    neighbours hold the same values and this is a Gaussian release. `noise` is as in `GaussianEvent`; with "rounded" the
    rest is Gaussian DP. An event that claims a smaller `failure` than `threshold_failure` is malformed.
    """

    kind: ClassVar[str] = "threshold"
    sigma: float
    l2_squared: int
    threshold: int
    failure: float
    noise: str = "discrete"
    rows: int = 1

    optional: ClassVar[frozenset[str]] = frozenset({"query", "rows"})

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise ValueError(f"sigma must be positive and finite, got {self.sigma}")
        if self.l2_squared < 1 or self.noise not in ("discrete", "rounded") or not 0 < self.failure < 1:
            raise ValueError(f"not a threshold event: l2_squared={self.l2_squared}, noise={self.noise!r}")
        if not (is_whole(self.rows) and self.rows >= 1):
            raise ValueError(f"rows must be a whole number of at least 1, got {self.rows!r}")
        if threshold_failure(self.threshold, self.sigma, self.rows) > self.failure:
            raise ValueError(f"a threshold of {self.threshold} fails more often than {self.failure}")

    @property
    def rho(self) -> Fraction:
        """l2² / 2σ²."""
        return Fraction(self.l2_squared) / (2 * Fraction(self.sigma) ** 2)

    @property
    def delta(self) -> Fraction:
        """The probability that a value held by one record alone is released."""
        return Fraction(self.failure)

    @property
    def is_gaussian(self) -> bool:
        """Whether what is left outside `failure` is exactly Gaussian-DP."""
        return self.noise == "rounded"

    @property
    def has_known_profile(self) -> bool:
        """Not of discrete noise."""
        return self.is_gaussian

    @property
    def noise_in_words(self) -> str:
        """Its law and scale."""
        return f"Gaussian, σ = {self.sigma:.4g}"

    def _moves_otherwise(self, unit: PrivacyUnit, query: QueryRecord) -> str:
        return f"a threshold for {self.rows} rows" if self.rows != unit.rows else super()._moves_otherwise(unit, query)

    def _states_otherwise(self, moves: Sensitivity) -> str:
        return _other_norm(self.l2_squared, moves)


def threshold_failure(threshold: int, sigma: float, rows: int) -> float:
    """How likely a threshold is passed by some value that one person alone holds, at most.

    Both laws have P(noise ≥ t) ≤ P(N(0, σ²) ≥ t − 1) for every integer t. The person's rows hold at most `rows` values,
    each of them at most `rows` times.
    """
    return rows * normal_tail((threshold - rows - 1) / sigma)


def normal_tail(x: float) -> float:
    """P(N(0, 1) ≥ x), rounded up."""
    return 0.5 * math.erfc(x / math.sqrt(2)) * (1 + 1e-12)


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
        """Of all steps."""
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


def _other_norm(l2_squared: int, moves: Sensitivity) -> str:
    same = l2_squared == max(1, moves.l2_squared)
    return "" if same else f"l2² = {l2_squared}, recomputed {moves.l2_squared}"


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
