"""What a page of the studio sends: small texts and numbers by name, each checked before anybody uses it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.words.catalogue import Catalogue, catalogue

PAGES = ("studio", "schema")
MOST_TEXT = 200_000
"""Characters of the longest text: the categories of a column."""


@dataclass(frozen=True)
class Call:
    """One call of a page of ours."""

    session: str
    body: dict[str, Any]

    @property
    def say(self) -> Catalogue:
        """The language of the page."""
        return catalogue(str(self.body.get("lang", "en")), *PAGES)

    def text(self, name: str, default: str = "", *, most: int = 1000) -> str:
        """A text; what is none, or too long, is refused by name."""
        value = self.body.get(name, default)
        if not isinstance(value, str) or len(value) > most:
            raise UsageError(self.say("{name} must be a text of at most {most} characters", name=name, most=most))
        return value.strip()

    def needed(self, name: str, why: str) -> str:
        """A text that must be there."""
        found = self.text(name)
        if not found:
            raise UsageError(why)
        return found

    def number(self, name: str, low: float, high: float) -> float:
        """A number in a range."""
        value = number_or_none(self.body.get(name))
        if value is None or not low <= value <= high:
            raise UsageError(
                self.say("{name} must be a number from {low} to {high}", name=name, low=f"{low:g}", high=f"{high:g}")
            )
        return value

    def count(self, name: str, low: int, high: int) -> int | None:
        """A whole number in a range, or None where nothing was typed."""
        if self.body.get(name) in (None, ""):
            return None
        value = self.number(name, low, high)
        if value != int(value):
            raise UsageError(self.say("{name} must be a whole number", name=name))
        return int(value)


def number_or_none(value: object) -> float | None:
    """A finite number, from JSON or as people type it."""
    try:
        found = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None
