"""What every event says; the kinds of them are in `events`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

from kagemusha.privacy.asked import Asked


@dataclass(frozen=True, kw_only=True)
class Event(ABC):
    """A read of the private data. `what` says of which columns, in words, never with data; `query` for machines."""

    kind: ClassVar[str]
    optional: ClassVar[frozenset[str]] = frozenset({"query"})
    """Fields that are left out of JSON where they say nothing, as certificates did before they existed."""

    what: str
    query: Asked | None = None
    """None in certificates of the first two formats, and where no query was asked."""

    @property
    @abstractmethod
    def rho(self) -> Fraction | None:
        """Cost in zCDP, exact; None when no zCDP guarantee exists."""

    @property
    def delta(self) -> Fraction:
        """Probability mass outside the guarantee (δ-approximate zCDP); adds up over events."""
        return Fraction(0)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Cost in pure DP, exact; None when the event is not purely private."""
        return None

    @property
    def is_gaussian(self) -> bool:
        """Whether √(2ρ)-Gaussian DP holds exactly, so that the event may enter a Gaussian-DP filter."""
        return False

    @property
    def is_protected(self) -> bool:
        """False for a read without any protection, whatever accounts for it."""
        return True

    def renyi(self, alpha: float) -> float:
        """Rényi divergence of order α > 1 between neighbours' answers, at most."""
        return math.inf if self.rho is None else alpha * float(self.rho) * (1 + 1e-12)

    @property
    def cost_alone(self) -> Event:
        """The event without its words and its query: equal for events that cost the same in every accounting."""
        return replace(self, what="", query=None)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary with the event's kind and parameters."""
        told: dict[str, Any] = {"kind": self.kind}
        for field in fields(self):
            value = getattr(self, field.name)
            if not (field.name in self.optional and value == field.default):
                told[field.name] = value.to_json() if isinstance(value, Asked) else value
        return told
