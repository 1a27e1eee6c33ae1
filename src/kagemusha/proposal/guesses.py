"""Rules that names and kinds of columns suggest; each is a guess for a person to confirm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from kagemusha.columns.column import Column
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.schema import Schema

ORDERS = (
    (r"admi(t|ssion)", r"discharge"),
    (r"(^|[_\W])(start|begin|from|in|first|open)", r"(^|[_\W])(end|finish|to|until|out|last|close)"),
    (r"birth|dob|born", r"."),
    (r"(^|[_\W])(min|lower|low)", r"(^|[_\W])(max|upper|high)"),
    (r".", r"death|deceased|(^|[_\W])dod$"),
)
"""What the name of the earlier or smaller column says, and that of the later or larger."""

PLACES = (("postcode|postal|zip", "city|town"), ("city|town", "country"), ("postcode|postal|zip", "country|state"))


MOST = 100
"""Guesses of each kind: nobody reads more, and a table of ten thousand columns must not make a hundred million."""


def with_guesses(schema: Schema, seen: Sequence[str] = ()) -> Schema:
    """The draft with the rules that its names suggest, and those that were `seen` in rows, each marked as a guess."""
    rules = [*_orders(schema.modelled), *_places(schema.modelled), *seen]
    return schema.with_constraints(*(Constraint(rule, guess=True) for rule in dict.fromkeys(rules)))


def _orders(columns: Sequence[Column]) -> Iterator[str]:
    """Each pattern looks at a name once; only columns whose names fit are put side by side."""
    found: dict[tuple[int, int], str] = {}
    for small, large in ORDERS:
        general = "." in (small, large)
        later: dict[str, list[int]] = {}
        for at, column in _matching(columns, large, general):
            later.setdefault(_stem(column.name, small, large, large), []).append(at)
        pairs = (
            (one, other)
            for one, column in _matching(columns, small, general)
            for other in later.get(_stem(column.name, small, large, small), ())
            if one != other and _comparable(column, columns[other])
        )
        for one, other in islice(pairs, MOST):
            found.setdefault((one, other), f"{_name(columns[one])} <= {_name(columns[other])}")
    yield from (found[pair] for pair in sorted(found)[:MOST])


def _places(columns: Sequence[Column]) -> Iterator[str]:
    labels = [c for c in columns if c.as_labels is not None]
    pairs = (
        (first, second)
        for given, place in PLACES
        for _, first in _matching(labels, given)
        for _, second in _matching(labels, place)
        if first is not second
    )
    yield from (f"{_name(first)} determines {_name(second)}" for first, second in islice(pairs, MOST))


def _matching(columns: Sequence[Column], pattern: str, moments: bool = False) -> list[tuple[int, Column]]:
    """Columns whose names fit, with their places; a pattern that fits all is for dates alone."""
    fits = re.compile(pattern, re.I).search
    return [
        (i, c)
        for i, c in enumerate(columns)
        if fits(c.name) and (not moments or ((a := c.axis) is not None and a.sort == "moment"))
    ]


def _stem(name: str, small: str, large: str, pattern: str) -> str:
    """What two names must share: pulse_min and pulse_max. Admission, birth and death need no more than their word."""
    return "" if "." in (small, large) or "admi" in small else re.sub(pattern, "", name, flags=re.I)


def _comparable(first: Column, second: Column) -> bool:
    one, other = first.axis, second.axis
    if one is None or other is None:
        return False
    return one.sort == other.sort and one.shows_days and other.shows_days


def _name(column: Column) -> str:
    return column.name if re.fullmatch(r"[^\W\d][\w.]*", column.name) else f"`{column.name}`"
