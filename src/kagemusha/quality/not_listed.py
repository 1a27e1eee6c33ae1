"""How many people have a value that nobody listed, as far as released counts tell. Doubles show listed ones in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kagemusha.models.model import Model
from kagemusha.quality.released import ReleasedNumbers

DEVIATIONS = 1.96
"""Of the noise, on both sides: what holds in 95 of 100 cases."""


@dataclass(frozen=True)
class NotListed:
    """A column whose schema lists its categories and declares no label for the rest."""

    column: str
    low: float
    high: float

    @property
    def words(self) -> str:
        """For people; empty where the noise alone may explain what was counted."""
        if self.low < 1:
            return ""
        return (
            f"{self.column}: {self.low:,.0f} to {self.high:,.0f} people have a value that the schema does not list; their doubles "
            "have a listed one."
        )


def not_listed(model: Model) -> Sequence[NotListed]:
    """Every such column of which counts were released, with an interval of people."""
    released = ReleasedNumbers(model)
    found = []
    for column in model.schema.modelled:
        counts = None if column.unseen_code is None else released.counts((column.name,))
        if counts is not None and column.unseen_code is not None:
            count, reach = float(counts.values[column.unseen_code]), DEVIATIONS * counts.sigma
            found.append(NotListed(column.name, max(0.0, count - reach), max(0.0, count + reach)))
    return found
