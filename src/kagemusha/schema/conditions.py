"""Conditions on doubles as people write them.

`age > 60 and (sex = 'F' or ward in ('a', 'b')) and bmi is not missing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
"""Every comparison, and its opposite."""


@dataclass(frozen=True)
class _OneColumn:
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


@dataclass(frozen=True)
class Compare(_OneColumn):
    """`column operator value`; never holds for a missing value."""

    operator: str
    value: Any


@dataclass(frozen=True)
class Missing(_OneColumn):
    """The column is missing (or, negated, present)."""

    negated: bool = False


@dataclass(frozen=True)
class _Joined:
    parts: tuple[Condition, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the parts speak of, part by part."""
        return tuple(name for part in self.parts for name in part.columns)


class Both(_Joined):
    """And."""


class Either(_Joined):
    """Or."""


@dataclass(frozen=True)
class Not:
    """Holds wherever the part does not, for missing values too; rules need it, people do not write it."""

    part: Condition

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the part."""
        return self.part.columns


@dataclass(frozen=True)
class Listed:
    """The values of some columns of labels stand together in one line of a list."""

    columns: tuple[str, ...]
    lines: frozenset[tuple[Any, ...]]


Condition = Compare | Missing | Both | Either | Not | Listed


def negate(condition: Condition) -> Condition:
    """The opposite, as in SQL: neither a condition nor its opposite holds for a missing value."""
    if isinstance(condition, Compare):
        return Compare(condition.column, NEGATED[condition.operator], condition.value)
    if isinstance(condition, Missing):
        return Missing(condition.column, not condition.negated)
    if isinstance(condition, Not):
        return condition.part
    if isinstance(condition, Listed):
        return Not(condition)
    opposite = Either if isinstance(condition, Both) else Both
    return opposite(tuple(negate(part) for part in condition.parts))
