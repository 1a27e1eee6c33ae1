"""What every event says; the kinds of them are in `events`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

from kagemusha.privacy.budget import PrivacyUnit, QueryRecord, Sensitivity
from kagemusha.privacy.query_kinds import KINDS, record_sensitivity


@dataclass(frozen=True, kw_only=True)
class Event(ABC):
    """A read of the private data. `what` says of which columns, in words, never with data; `query` for machines."""

    kind: ClassVar[str]
    optional: ClassVar[frozenset[str]] = frozenset({"query"})
    """Fields that are left out of JSON where they say nothing."""

    what: str
    query: QueryRecord | None = None
    """None where the whole table was read without protection."""

    @property
    @abstractmethod
    def rho(self) -> Fraction | None:
        """Cost in zCDP, exact; None when no zCDP guarantee exists."""

    @property
    @abstractmethod
    def noise_in_words(self) -> str:
        """What hides a person, for a reader who is not an expert."""

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
    def has_known_profile(self) -> bool:
        """Whether numerical composition knows its distribution of losses."""
        return True

    @property
    def is_protected(self) -> bool:
        """False for a read without any protection, whatever accounts for it."""
        return True

    @property
    def broken_because(self) -> str | None:
        """Why nothing is promised after this read; None where something is."""
        return None

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in each number of the answer; infinite where the answer is no number."""
        return math.inf

    @property
    def bell_shaped(self) -> bool:
        """Whether that noise is Gaussian, of either law."""
        return False

    @property
    def sampled_steps(self) -> int:
        """Steps whose privacy rests on who is in a sample: long to compose."""
        return 0

    @property
    def drawn_rows(self) -> int | None:
        """Rows that the event itself released; None where it released something else."""
        return None

    @property
    def about_rho(self) -> float:
        """ρ, roughly, where there is an exact one or not: for choosing how finely to compose."""
        return float(self.rho or 0)

    @property
    def gaussian_rho(self) -> float | None:
        """ρ of the Gaussian mechanism that it composes as, exactly or from above.

        None where it has another distribution.
        """
        return None if self.rho is None else float(self.rho)

    @property
    def spread(self) -> float:
        """How wide the privacy loss of one step of it is, where it has a distribution of its own."""
        return 0.0

    def losses(self, interval: float) -> Any:
        """The distribution of its privacy loss on a grid, of all its steps together; None where none is known.

        QueryRecord of events without a `gaussian_rho` only.
        """
        return None

    def fault(self, unit: PrivacyUnit) -> str:
        """Why it does not say what one person's rows move its query; empty if it does."""
        query = self.query
        if query is None:
            return "it names no query"
        if self.kind not in KINDS[query.kind].answered_by:
            return f"a step of kind {self.kind!r} answers no query of kind {query.kind!r}"
        return self._moves_otherwise(unit.of_rows(query.rows), query)

    def _moves_otherwise(self, unit: PrivacyUnit, query: QueryRecord) -> str:
        moves = unit.sensitivity(record_sensitivity(query.kind, dict(query.facts)))
        return self._states_otherwise(moves)

    def _states_otherwise(self, moves: Sensitivity) -> str:
        """Why the sensitivity it states is not this one; empty if it is."""
        return "it states no sensitivity"

    def renyi(self, alpha: float) -> float:
        """Rényi divergence of order α > 1 between neighbours' answers, at most."""
        return math.inf if self.rho is None else alpha * float(self.rho) * (1 + 1e-12)

    @property
    def cost_alone(self) -> Event:
        """The event without its words and its query: equal for events that cost the same in every accounting."""
        return replace(self, what="", query=None)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary with the event's kind and parameters."""
        found: dict[str, Any] = {"kind": self.kind}
        for field in fields(self):
            value = getattr(self, field.name)
            if not (field.name in self.optional and value == field.default):
                found[field.name] = value.to_json() if field.name == "query" else value
        return found
