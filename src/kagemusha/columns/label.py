"""Labels as they are declared, what a text says besides itself, and how values are compared with labels."""

from __future__ import annotations

import math
import operator as comparisons
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

DATE_TIME = (
    r"(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?)?"
)
"""The texts of dates and times that common writers use (ISO 8601), of which `ZONE` may be the end.

For Python's and DuckDB's regular expressions alike."""

ZONE = r" ?(?:Z|UTC|([+-][0-9]{2}):?([0-9]{2})?)"
ZONED_FROM = 17
"""A text with a zone has at least so many characters: a date, a time to the minute, and Z."""

DATE_TIME_LENGTH = 26
"""Characters of a date and time that are read: what is finer than a microsecond is cut off."""

TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")

NOT_A_NUMBER = ("nan", "NaN")
"""How tables write a missing number; no category can have such a name."""

MICROSECONDS_PER_DAY = 86_400_000_000

EXACT_BELOW = 2**53
"""Whole numbers below this differ from one another in float64; from here on they may not."""

_EPOCH = datetime(1970, 1, 1)
_NUMBER = re.compile(r"[ \t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf)[ \t]*")
_DATE_TIME, _ZONE = re.compile(DATE_TIME), re.compile(rf"{ZONE}\Z")
_TRUTH = {**dict.fromkeys(TRUE, 1.0), **dict.fromkeys(FALSE, 0.0)}
_FIRST = frozenset("0123456789+-. \titfTF")
_WRITTEN = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.0)?|[0-9]+\.?[0-9]*[eE][+-]?[0-9]+)")


def number_of(text: str) -> float | None:
    """The number a text says, if it says one."""
    if not text or text[0] not in _FIRST:
        return None
    if _NUMBER.fullmatch(text):
        return float(text) + 0.0  # never -0.0
    if text in _TRUTH:
        return _TRUTH[text]
    stamp = moment_of(text)
    return None if stamp is None else days_of(stamp)


def moment_of(text: str) -> int | None:
    """Microseconds since 1970 of an ISO 8601 text, if it is one; with a zone, in UTC."""
    zone = _ZONE.search(text) if len(text) >= ZONED_FROM else None
    local = text[: zone.start()] if zone else text
    if not _DATE_TIME.fullmatch(local):
        return None
    hours, minutes = (zone[1] or "+00", zone[2] or "00") if zone else ("+00", "00")
    shift = int(hours) * 60 + int(hours[0] + minutes)
    try:
        return microseconds_of(datetime.fromisoformat(local[:DATE_TIME_LENGTH])) - shift * 60_000_000
    except ValueError:  # the 30th of February
        return None


def microseconds_of(moment: date) -> int:
    """Microseconds from 1970 to a date or to a datetime (with a zone: in UTC), exactly."""
    seconds = (moment.toordinal() - _EPOCH.toordinal()) * 86_400
    if not isinstance(moment, datetime):
        return seconds * 1_000_000
    seconds += (moment.hour * 60 + moment.minute) * 60 + moment.second
    shift = (moment.utcoffset() or timedelta()) // timedelta(microseconds=1)
    return seconds * 1_000_000 + moment.microsecond - shift


def days_of(microseconds: int) -> float:
    """The number a moment says: days since 1970."""
    return float(microseconds) / float(MICROSECONDS_PER_DAY)


def canonical(text: str) -> str:
    """One text for all the texts that tables write for one value; other texts stand for themselves.

    1.0 and 1e0 become 1, true becomes 1, 2020-01-05 00:00:00 becomes 2020-01-05, and whole numbers from 2⁵³ on
    become what float64 keeps of them. 01 and 1.10 stay as they are: no table writes a number so.
    """
    if not text or text[0] not in _FIRST:
        return text
    if text == TRUE[0] or text == FALSE[0]:
        return "1" if text == TRUE[0] else "0"
    if _WRITTEN.fullmatch(text):
        number = float(text)
        return text if math.isinf(number) else number_text(number)
    stamp = moment_of(text)
    return text if stamp is None else moment_text(stamp)


def number_text(number: float) -> str:
    """The canonical text of a number."""
    if abs(number) < EXACT_BELOW and number == int(number):
        return str(int(number))
    return repr(number)


def moment_text(microseconds: int) -> str:
    """The canonical text of a moment: ISO 8601, without a time if that is midnight."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    if microseconds % MICROSECONDS_PER_DAY == 0:
        return moment.date().isoformat()
    return moment.isoformat(sep=" ")


_DIGITS = {"Y": 4, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "I": 2, "M": 2, "S": 2, "f": 6}


def digits_of(form: str) -> int | None:
    """How many digits a format writes, if it writes nothing else; tables take such dates for numbers."""
    letters = re.findall(r"%(.)", form)
    if re.sub(r"%.", "", form) or not all(letter in _DIGITS for letter in letters):
        return None
    return sum(_DIGITS[letter] for letter in letters)


Label = str | int | bool
"""A declared category, in the type the raw table has."""

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": comparisons.lt,
    "<=": comparisons.le,
    ">": comparisons.gt,
    ">=": comparisons.ge,
    "=": comparisons.eq,
    "!=": comparisons.ne,
}


def text_of(value: Label) -> str:
    """The text under which a declared value is found in a raw table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def compatible(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels that one column may declare together: of those that read alike the first."""
    kept: dict[str, Label] = {}
    for label in labels:
        if label not in NOT_A_NUMBER:
            kept.setdefault(canonical(text_of(label)), label)
    return tuple(kept.values())


def unlike(value: Label, twin: Label) -> str:
    """What a category must be that reads like an earlier one."""
    if text_of(value) == text_of(twin):
        return "a list without repeats (1 and '1' read the same)"
    number = number_of(text_of(value))
    if number is not None and abs(number) >= EXACT_BELOW:
        return (
            f"distinguished from {twin!r} by float64, into which one gap turns a column of whole numbers; from 2^53 "
            f"on that "
            "fails: put a letter before such long codes, in the table and here"
        )
    return (
        f"a list without repeats: {twin!r} reads the same (tables write 1 also as 1.0 or true, a date also with a time)"
    )
