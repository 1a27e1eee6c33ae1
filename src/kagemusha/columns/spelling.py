"""Numbers and dates as people write them, made into texts that every reader of tables reads alike.

A spelling is declared for a column and used on one text at a time, so that no record changes how another one is read.
A text that is not spelt so stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

COMMA = "1.234,56"
"""Decimal commas; doubles are written with them."""
POINT = "1,234.56"
"""Thousands separators."""
NUMBERS = (POINT, COMMA)

DAY_FIRST, MONTH_FIRST, JAPANESE = "day-first", "month-first", "japanese"
DATES = (DAY_FIRST, MONTH_FIRST, JAPANESE)

_MONEY = re.compile(r"[%‰円\\]|\b(EUR|USD|JPY|GBP|CHF|CAD|AUD|CNY|KRW|INR)\b|(?<=\d)\s*(kr|zł|Ft|Kč)$", re.ASCII)
_GROUPS = re.compile(r"(?<=\d)[\s'’٬](?=\d{3}(?!\d))", re.ASCII)
_MINUS = str.maketrans(dict.fromkeys("−–‐▲△", "-"))
_WHOLE = {POINT: r"\d{1,3}(?:,\d{3})+|\d+", COMMA: r"\d{1,3}(?:\.\d{3})+|\d+"}
_POWER = r"[eE][+-]?\d{1,3}"
_NUMBER = {
    POINT: re.compile(rf"([+-]?)({_WHOLE[POINT]})?(?:\.(\d*))?({_POWER})?", re.ASCII),
    COMMA: re.compile(rf"([+-]?)({_WHOLE[COMMA]})?(?:,(\d*))?({_POWER})?", re.ASCII),
}

ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first of each era."""
_ERAS = {**ERAS, **dict(zip("MTSHR", ERAS.values(), strict=True))}
_CLOCK = r"(?:[T\s]*(\d{1,2})\s*[:時]\s*(\d{1,2})\s*(?:[:分]\s*(\d{1,2})?\s*秒?)?分?)?"
_MONTH_DAY = r"(\d{1,2})\s*[月./-]\s*(\d{1,2})\s*日?"
_ERA_DAY = re.compile(rf"({'|'.join(_ERAS)})\s*(元|\d{{1,2}})\s*[年./-]\s*{_MONTH_DAY}{_CLOCK}", re.I | re.A)
_YEAR_FIRST = re.compile(rf"(\d{{4}})\s*[年./-]\s*{_MONTH_DAY}{_CLOCK}", re.A)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})[./\s-]+(\d{{1,2}})[./\s-]+(\d{{4}})\.?{_CLOCK}", re.A)


def spelt_number(text: str, spelling: str) -> str:
    """The number that a text says in a spelling, with a decimal point and nothing else."""
    plain = unicodedata.normalize("NFKC", text).translate(_MINUS).strip()
    if (bracketed := re.fullmatch(r"\((.*)\)", plain)) is not None:
        plain = f"-{bracketed[1]}"
    bare = "".join(char for char in _MONEY.sub("", plain) if unicodedata.category(char) != "Sc").strip()
    found = _NUMBER[spelling].fullmatch(_GROUPS.sub("", re.sub(r"^([+-])\s+", r"\1", bare)))
    if found is None or not (found[2] or found[3]):
        return text
    whole = re.sub(r"\D", "", found[2] or "0")
    return f"{found[1]}{whole}" + (f".{found[3]}" if found[3] else "") + (found[4] or "")


def spelt_date(text: str, spelling: str) -> str:
    """The moment that a text says in a spelling, as ISO 8601 writes it."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if found := _YEAR_FIRST.fullmatch(plain):
        year, month, day, *clock = found.groups()
    elif spelling == JAPANESE:
        found = _ERA_DAY.fullmatch(plain)
        if found is None:
            return text
        era, counted, month, day, *clock = found.groups()
        year = str(_ERAS[era.upper()] + (1 if counted == "元" else int(counted)))
    else:
        found = _YEAR_LAST.fullmatch(plain)
        if found is None:
            return text
        day, month, year, *clock = found.groups()
        if spelling == MONTH_FIRST:
            day, month = month, day
    shown = f"{year}-{int(month):02}-{int(day):02}"
    return shown if clock[0] is None else f"{shown} {int(clock[0]):02}:{int(clock[1]):02}:{int(clock[2] or 0):02}"


SPELT: Mapping[str, Callable[[str, str], str]] = {
    **dict.fromkeys(NUMBERS, spelt_number),
    **dict.fromkeys(DATES, spelt_date),
}


def spelt(texts: Any, spelling: str) -> Any:
    """The texts of a list or an arrow array, each made plain."""
    made = SPELT[spelling]
    given = texts if isinstance(texts, list) else texts.to_pylist()
    return [None if text is None else made(text, spelling) for text in given]
