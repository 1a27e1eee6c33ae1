"""The texts of times of the day and of lengths of time."""

from __future__ import annotations

import re

_CLOCK = re.compile(
    r"(?:(?P<days>[+-]?[0-9]{1,6}) days?(?:,? |\Z))?(?:(?P<sign>[+-])?(?P<hours>[0-9]{1,7}):(?P<minutes>[0-5][0-9])"
    r"(?::(?P<seconds>[0-5][0-9])(?:\.(?P<rest>[0-9]{1,9}))?)?)?"
)
_ISO = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<days>[0-9]{1,6})D)?(?:T(?:(?P<hours>[0-9]{1,7})H)?(?:(?P<minutes>[0-9]{1,7})M)?"
    r"(?:(?P<seconds>[0-9]{1,9})(?:\.(?P<rest>[0-9]{1,9}))?S)?)?"
)


def span_of(text: str) -> int | None:
    """Microseconds of a text such as 08:30, 26:30:15.5, 1 days 02:00:00, -1 day, 22:00:00 or P1DT2H.

    None if it is none.
    """
    clock, iso = _CLOCK.fullmatch(text), _ISO.fullmatch(text)
    found = clock or iso
    if found is None or not text[-1:].isalnum() or text[-1:] in "PT":
        return None
    days, hours, minutes, seconds = (int(found[part] or 0) for part in ("days", "hours", "minutes", "seconds"))
    inside = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((found["rest"] or "0").ljust(6, "0")[:6])
    sign = -1 if found["sign"] == "-" else 1
    whole = days * 86_400_000_000
    return whole + sign * inside if clock else sign * (whole + inside)


def written(seconds: int) -> str:
    """Seconds as HH:MM:SS, hours going on past 24."""
    minutes, second = divmod(abs(seconds), 60)
    return f"{'-' * (seconds < 0)}{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
