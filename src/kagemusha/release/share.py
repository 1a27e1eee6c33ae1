"""What one of several related tables has of a release, or a method between what comes before and after it."""

from __future__ import annotations

from dataclasses import dataclass

from kagemusha.marginals import NoisyMarginal


@dataclass(frozen=True)
class Share:
    """Which table the Curator asks, and how much of the budget it may use."""

    table: str = ""
    """Its name; empty where there is one table."""
    rows: int = 1
    """As how many rows of it a record counts, at most."""
    kept_back: float = 0.0
    """What must be left of the budget for other tables, or for what comes after the method."""
    required: tuple[NoisyMarginal, ...] = ()
    """Tables that must be right: released already, and nobody asks for them again."""


WHOLE = Share()
