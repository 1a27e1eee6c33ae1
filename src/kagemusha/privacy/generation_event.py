"""Rows drawn from a secret normal distribution, as an event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from kagemusha.privacy.budget import PrivacyUnit, QueryRecord, is_whole
from kagemusha.privacy.event import Event
from kagemusha.privacy.generation.rows import RowsCost, moved_by_one


@dataclass(frozen=True, kw_only=True)
class GenerationEvent(Event):
    """`rows` rows drawn from a normal distribution whose mean and covariance stay secret; see `generation.rows`.

    With `noise` (a multiplier) on mean and covariance it is a Gaussian mechanism besides: rows are made from what that
    would release. Without, the draws are all the noise there is, and it has a Rényi curve but no finite ρ.
    """

    kind: ClassVar[str] = "generation"
    rows: int
    at_least: int
    width: int
    apart: int
    box: int
    boundaries: int
    floor: float
    noise: float
    share: float
    person: int = 1

    optional: ClassVar[frozenset[str]] = frozenset({"query", "person"})

    def __post_init__(self) -> None:
        counts = {"rows": self.rows, "at_least": self.at_least, "width": self.width, "apart": self.apart}
        for name, given in {**counts, "box": self.box, "boundaries": self.boundaries, "person": self.person}.items():
            if not (is_whole(given) and 0 < given <= 10**15):
                raise ValueError(f"{name} must be a whole number of at least 1, got {given!r}")
        if not (0 < self.floor <= 1 and 0 < self.share < 1 and 0 <= self.noise < math.inf):
            raise ValueError(f"not a generation event: floor={self.floor}, share={self.share}, noise={self.noise}")

    @property
    def noise_in_words(self) -> str:
        besides = (
            f" and Gaussian noise of {self.noise:.4g} times what one person moves"
            if self.noise
            else ", and no other noise"
        )
        return f"the draws of {self.rows:,} rows{besides}"

    @property
    def cost(self) -> RowsCost:
        """What it costs, by the theory."""
        return RowsCost(
            rows=self.rows,
            at_least=self.at_least,
            width=self.width,
            apart=float(self.apart),
            moved=moved_by_one(self.apart, self.box),
            boundaries=self.boundaries,
            floor=self.floor,
            noise=self.noise,
            share=self.share,
            person=self.person,
        )

    @property
    def rho(self) -> Fraction | None:
        """That of the noise, if there is any."""
        return Fraction(1) / (2 * Fraction(self.noise) ** 2) if self.noise else None

    @property
    def delta(self) -> Fraction:
        """How likely rounding changes a row."""
        return Fraction(self.cost.failure)

    @property
    def is_gaussian(self) -> bool:
        """Whether there is noise: integers rounded from a Gaussian, of which the rows are made."""
        return self.noise > 0

    def renyi(self, alpha: float) -> float:
        """Noise and draws together."""
        return self.cost.renyi(alpha) * (1 + 1e-9)

    @property
    def drawn_rows(self) -> int:
        """All that was released."""
        return self.rows

    def _moves_otherwise(self, unit: PrivacyUnit, query: QueryRecord) -> str:
        stated = self.to_json()
        same = all(stated[name] == fact for name, fact in query.facts) and self.person == unit.rows
        return "" if same else "not what one person's rows move in this schema"
