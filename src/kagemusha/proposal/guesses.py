"""Rules that names and kinds of columns suggest. No value is looked at; each is a guess for a person to confirm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

from kagemusha.schema.columns import Column
from kagemusha.schema.constraints import Constraint
from kagemusha.schema.labels import Boolean, Category
from kagemusha.schema.numeric import Integer, Real
from kagemusha.schema.schema import Schema
from kagemusha.schema.temporal import Moment

ORDERS = (
    (r"admi(t|ssion)", r"discharge"),
    (r"(^|[_\W])(start|begin|from|in|first|open)", r"(^|[_\W])(end|finish|to|until|out|last|close)"),
    (r"birth|dob|born", r"."),
    (r"(^|[_\W])(min|lower|low)", r"(^|[_\W])(max|upper|high)"),
    (r".", r"death|deceased|(^|[_\W])dod$"),
)
"""What the name of the earlier or smaller column says, and that of the later or larger."""

PLACES = (("postcode|postal|zip", "city|town"), ("city|town", "country"), ("postcode|postal|zip", "country|state"))


def with_guesses(schema: Schema) -> Schema:
    """The draft with the rules that its names suggest, each marked as a guess."""
    return schema.with_constraints(*(Constraint(rule, guess=True) for rule in dict.fromkeys(_rules(schema))))


def _rules(schema: Schema) -> Iterator[str]:
    for first, second in permutations(schema.modelled, 2):
        if _comparable(first, second):
            for small, large in ORDERS:
                pair = re.search(small, first.name, re.I), re.search(large, second.name, re.I)
                general = "." in (small, large) and not isinstance(first, Moment)
                if all(pair) and not general and _alike(first.name, second.name, small, large):
                    yield f"{_name(first)} <= {_name(second)}"
                    break
        if all(isinstance(c, Category | Boolean) for c in (first, second)):
            for given, told in PLACES:
                if re.search(given, first.name, re.I) and re.search(told, second.name, re.I):
                    yield f"{_name(first)} determines {_name(second)}"


def _comparable(first: Column, second: Column) -> bool:
    numbers = (Integer, Real)
    if isinstance(first, Moment) and isinstance(second, Moment):
        return first.unit not in ("Y", "M") and second.unit not in ("Y", "M")
    return isinstance(first, numbers) and isinstance(second, numbers)


def _alike(first: str, second: str, small: str, large: str) -> bool:
    """Numbers are put in order only if their names differ in these words alone: pulse_min and pulse_max."""
    if "." in (small, large) or "admi" in small:
        return True
    return re.sub(small, "", first, flags=re.I) == re.sub(large, "", second, flags=re.I)


def _name(column: Column) -> str:
    return column.name if re.fullmatch(r"[^\W\d][\w.]*", column.name) else f"`{column.name}`"
