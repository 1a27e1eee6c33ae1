"""Answers with integer noise: Gaussian, Laplace, and labels whose noisy count reaches a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from kagemusha.privacy.budget import PrivacyUnit, QueryRecord, Sensitivity, is_whole
from kagemusha.privacy.distributions import pure
from kagemusha.privacy.event import Event
from kagemusha.privacy.renyi import pure_renyi


@dataclass(frozen=True, kw_only=True)
class IntegerGaussianEvent(Event):
    """Integer Gaussian noise of standard deviation `sigma` on an integer query of squared L2 sensitivity `l2_squared`.

    `noise` is "discrete" (the discrete Gaussian: ρ-zCDP, Canonne–Kamath–Steinke 2020) or "rounded" (a Gaussian
    rounded to integers: post-processing of the Gaussian mechanism, hence ρ-zCDP *and* √(2ρ)-Gaussian DP).
    """

    sigma: float
    l2_squared: int
    noise: str = "discrete"

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise ValueError(f"sigma must be positive and finite, got {self.sigma}")
        if not self.l2_squared >= 1 or self.noise not in ("discrete", "rounded"):
            raise ValueError(f"not a {self.kind} event: l2_squared={self.l2_squared}, noise={self.noise!r}")

    @cached_property
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

    def _states_otherwise(self, moves: Sensitivity) -> str:
        same = self.l2_squared == max(1, moves.l2_squared)
        return "" if same else f"l2² = {self.l2_squared}, recomputed {moves.l2_squared}"


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(IntegerGaussianEvent):
    """The Gaussian mechanism on an integer query."""

    kind: ClassVar[str] = "gaussian"

    @property
    def deviation(self) -> float:
        """σ; the discrete laws are within a rounding of it."""
        return self.sigma

    @property
    def bell_shaped(self) -> bool:
        """Yes."""
        return True


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
class ThresholdEvent(IntegerGaussianEvent):
    """Partition selection: integer Gaussian noise on the counts of all values seen, released from a threshold on.

    A value that only one person holds, in up to `rows` rows, is released with probability at most `failure`; otherwise
    neighbours hold the same values and this is a Gaussian release, with "rounded" noise Gaussian DP. An event that
    claims a smaller `failure` than `threshold_failure` is malformed.
    """

    kind: ClassVar[str] = "threshold"
    threshold: int
    failure: float
    rows: int = 1

    optional: ClassVar[frozenset[str]] = frozenset({"query", "rows"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.failure < 1:
            raise ValueError(f"not a threshold event: failure={self.failure}")
        if not (is_whole(self.rows) and self.rows >= 1):
            raise ValueError(f"rows must be a whole number of at least 1, got {self.rows!r}")
        if not threshold_failure(self.threshold, self.sigma, self.rows) <= self.failure:
            raise ValueError(f"a threshold of {self.threshold} fails more often than {self.failure}")

    @property
    def delta(self) -> Fraction:
        """The probability that a value held by one record alone is released."""
        return Fraction(self.failure)

    def _moves_otherwise(self, unit: PrivacyUnit, query: QueryRecord) -> str:
        return f"a threshold for {self.rows} rows" if self.rows != unit.rows else super()._moves_otherwise(unit, query)


def threshold_failure(threshold: int, sigma: float, rows: int) -> float:
    """How likely a threshold is passed by some value that one person alone holds, at most.

    Both laws have P(noise ≥ t) ≤ P(N(0, σ²) ≥ t − 1) for every integer t. The person's rows hold at most `rows` values,
    each of them at most `rows` times.
    """
    return rows * normal_tail((threshold - rows - 1) / sigma)


def normal_tail(x: float) -> float:
    """P(N(0, 1) ≥ x), rounded up."""
    return 0.5 * math.erfc(x / math.sqrt(2)) * (1 + 1e-12)
