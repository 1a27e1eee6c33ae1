"""The formats of dates: strptime's, as far as what they show can be read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from kagemusha.columns.label import digits_of, microseconds_of, moment_of

MOST_DIGITS = 15
"""Digits of whole numbers that are exact in float64."""

STEPS_PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "us": 86_400_000_000}
"""Steps of the lattice of each resolution that a day has."""

# Coarsest first; the finest directive of a format decides the resolution (numpy's names for them).
_RESOLUTIONS = {"Y": "Yy", "M": "mbB", "D": "dj", "h": "HI", "m": "M", "s": "S", "us": "f"}
_EXAMPLE = datetime(2003, 2, 1, 4, 5, 6, 7)


def unit_of(form: str) -> str | None:
    """The finest resolution that a format shows."""
    letters = set(re.findall(r"%(.)", form))
    shown = [resolution for resolution, directives in _RESOLUTIONS.items() if letters & set(directives)]
    return shown[-1] if shown else None


def shown(form: str, moment: datetime) -> datetime | None:
    """What is left of a moment when the format has shown it; None if its own text cannot be read."""
    try:
        return datetime.strptime(moment.strftime(form), form)
    except (ValueError, re.error):
        return None


def allowed(form: str, resolution: str, resolutions: Sequence[str], kind: str) -> str | None:
    """What a format must be that cannot be used; None if it can."""
    known = "".join(_RESOLUTIONS.values()) + "p%"
    letters = re.findall(r"%(.?)", form, re.DOTALL)
    if not letters or any(letter not in known or not letter for letter in letters):
        return "a strptime format of " + " ".join("%" + k for k in known)
    if resolution not in resolutions:
        return f"a format that fits a {kind}"
    digits = digits_of(form)
    if digits is not None and digits > MOST_DIGITS:
        return (
            f"a format with separators, or of at most {MOST_DIGITS} digits: one gap turns a column of such numbers "
            "into float64, which keeps no more"
        )
    example = shown(form, _EXAMPLE)
    if example is None:
        return "a format that reads back what it writes"
    if moment_of(_EXAMPLE.strftime(form)) not in (None, microseconds_of(example)):
        return "one whose texts do not look like ISO 8601 (2003-02-01) and mean another date"
    return None
