"""Which spelling the texts of a column share, if readers of tables do not understand them as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kagemusha.columns.boolean import TRUTH
from kagemusha.columns.label import moment_of
from kagemusha.columns.spelling import DATES, NUMBERS, spelt_date, spelt_number

REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DAY = "2000-01-01"


@dataclass(frozen=True)
class Spelt:
    """Texts made plain, and by which spelling."""

    spelling: str
    plain: list[str]
    moments: bool


def seen_spelling(words: Sequence[str]) -> Spelt | None:
    """The first spelling in which all texts are numbers, or all of them dates."""
    for spelling in NUMBERS:
        plain = [spelt_number(word, spelling) for word in words]
        if all(map(REAL.fullmatch, plain)):
            return Spelt(spelling, plain, moments=False)
    for spelling in DATES:
        plain = [spelt_date(word, spelling) for word in words]
        if all(moment_of(word) is not None for word in plain):
            timed = any(len(word) > len(_DAY) for word in plain)
            return Spelt(spelling, [_timed(word) for word in plain] if timed else plain, moments=True)
    return None


def _timed(word: str) -> str:
    return f"{word} 00:00:00" if len(word) == len(_DAY) else word


def is_yes_or_no(words: Sequence[str]) -> bool:
    """Whether texts are true or false in more than one spelling: as categories, Y and Yes would be different."""
    return len(words) > 2 and {TRUTH.get(word) for word in words} == {0, 1}
