"""What happened to the private data: one immutable event for every read.

An event says *what was done*; accountants say *what it costs*. The meaning of a kind or of a parameter never
changes once released, because certificates are re-checked years later.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from kagemusha.errors import VerifyError


@dataclass(frozen=True, kw_only=True)
class Event(ABC):
    """A read of the private data. `what` says of which columns, in words, never with data."""

    kind: ClassVar[str]
    what: str

    @property
    @abstractmethod
    def rho(self) -> Fraction | None:
        """Cost in zCDP, exact; None when no zCDP guarantee exists."""

    @property
    def delta(self) -> Fraction:
        """Probability mass outside the zCDP guarantee (δ-approximate zCDP); adds up over events."""
        return Fraction(0)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Cost in pure DP, exact; None when the event is not purely private."""
        return None

    @property
    def is_gaussian(self) -> bool:
        """Whether √(2ρ)-Gaussian DP holds exactly, so that the event may enter a Gaussian-DP filter."""
        return False

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary with the event's kind and parameters."""
        return {"kind": self.kind, **asdict(self)}


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


@dataclass(frozen=True, kw_only=True)
class ThresholdEvent(Event):
    """Partition selection: integer Gaussian noise on the counts of all values seen, released from a threshold on.

    A value that only one record holds is released with probability at most `failure`; otherwise neighbours hold the
    same values and this is a Gaussian release. `noise` is as in `GaussianEvent`; with "rounded" the rest is Gaussian
    DP. Both laws have P(noise ≥ t) ≤ P(N(0, σ²) ≥ t − 1) for every integer t, and a single record gives a count of 1,
    so `failure` must be at least P(N(0, σ²) ≥ threshold − 2): an event that claims less is malformed.
    """

    kind: ClassVar[str] = "threshold"
    sigma: float
    l2_squared: int
    threshold: int
    failure: float
    noise: str = "discrete"

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and math.isfinite(self.sigma)):
            raise ValueError(f"sigma must be positive and finite, got {self.sigma}")
        if self.l2_squared < 1 or self.noise not in ("discrete", "rounded") or not 0 < self.failure < 1:
            raise ValueError(f"not a threshold event: l2_squared={self.l2_squared}, noise={self.noise!r}")
        if normal_tail((self.threshold - 2) / self.sigma) > self.failure:
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


def normal_tail(x: float) -> float:
    """P(N(0, 1) ≥ x), rounded up."""
    return 0.5 * math.erfc(x / math.sqrt(2)) * (1 + 1e-12)


@dataclass(frozen=True, kw_only=True)
class UnprotectedEvent(Event):
    """A read with no protection at all: from here on ε = ∞."""

    kind: ClassVar[str] = "unprotected"
    reason: str

    @property
    def rho(self) -> None:
        """No guarantee."""
        return None


_KINDS: dict[str, type[Event]] = {
    cls.kind: cls for cls in (GaussianEvent, LaplaceEvent, ExponentialEvent, ThresholdEvent, UnprotectedEvent)
}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """Rebuild an event; an unknown kind or a wrong field is a VerifyError, never a guess."""
    cls = _KINDS.get(str(data.get("kind")))
    if cls is None:
        raise VerifyError(f"unknown kind of event {data.get('kind')!r}; known: {', '.join(_KINDS)}")
    given = {key: value for key, value in data.items() if key != "kind"}
    if set(given) != {field.name for field in fields(cls)}:
        raise VerifyError(f"an event of kind {cls.kind!r} has the wrong fields: {', '.join(sorted(given))}")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:
        raise VerifyError(f"an event of kind {cls.kind!r} is malformed: {error}") from None
