"""The words, signs, numbers and texts that conditions, formulas and rules are written in."""

from __future__ import annotations

import re
from typing import NamedTuple

_SAME = r"""(?P<text>'(?:[^']|'')*') | (?P<quoted>"[^"]+"|`[^`]+`) |
    (?P<sign>=>|->|→|<=|>=|!=|<>|==|[-+*/^(),<>=]|&&?|\|\|?)"""
IN_CONDITIONS = re.compile(
    rf"""\s*(?:(?P<date>\d{{4}}-\d{{2}}-\d{{2}}(?:T\d{{2}}:\d{{2}}(?::\d{{2}})?)?(?!\w|-(?!>))) |
    (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w|-(?!>))) | (?P<word>[^\W\d](?:[\w.]|-(?!>))*) | {_SAME})""",
    re.VERBOSE,
)
IN_SUMS = re.compile(
    rf"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)) | (?P<word>[^\W\d][\w.]*) | {_SAME})""", re.VERBOSE
)
"""In a condition a hyphen belongs to the name or number it touches, in a sum it is a minus; the rest is the same."""

_SYNONYMS = {"&": "and", "&&": "and", "|": "or", "||": "or", "==": "=", "<>": "!=", "null": "missing"}
"""How SQL and programmers write some words and signs."""


class Unreadable(Exception):
    """A text breaks the grammar; says what was expected, and where."""


class Token(NamedTuple):
    """A piece of a text: its kind (a group of the patterns above, or end), how it is written, and where."""

    kind: str
    text: str
    place: int

    @property
    def said(self) -> str:
        """A word in small letters or a sign, as the grammar spells it; empty for quoted names, texts and numbers."""
        said = self.text.lower() if self.kind in ("word", "sign") else ""
        return _SYNONYMS.get(said, said)


def tokens(text: str, pattern: re.Pattern[str]) -> list[Token]:
    """The text in pieces, closed by one of kind end."""
    found, place, end = [], 0, len(text.rstrip())
    while place < end:
        match = pattern.match(text, place)
        if match is None or match.lastgroup is None:
            raise Unreadable(f"cannot read {shown(text[place:].strip())}")
        kind = match.lastgroup
        found.append(Token(kind, match[kind], match.start(kind)))
        place = match.end()
    return [*found, Token("end", "", end)]


def shown(text: str) -> str:
    """The text in quotation marks, cut where it is long."""
    return repr(text) if len(text) <= 100 else repr(text[:97]) + "..."
