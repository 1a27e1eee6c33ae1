"""Labels as they are declared, and how values are compared with them."""

from __future__ import annotations

import operator as comparisons
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kagemusha.columns.spelling import NOT_A_NUMBER, canonical

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
