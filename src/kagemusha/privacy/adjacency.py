"""Which two tables the guarantee cannot tell apart, and what that does to each sensitivity.

This is the only place where an adjacency turns into a number. Every mechanism and score reads it from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kagemusha.errors import UsageError


class Adjacency(StrEnum):
    """The neighbouring relation.

    `add-remove`: one record is present or not; the number of rows is private.
    `replace`: one record is exchanged for another; the number of rows is public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @classmethod
    def named(cls, name: str) -> Adjacency:
        """The adjacency of that name; any other name is a UsageError."""
        try:
            return cls(name)
        except ValueError:
            raise UsageError(f"adjacency must be one of {', '.join(cls)}, got {name!r}") from None

    @property
    def rows_are_public(self) -> bool:
        """Whether the exact number of rows may be used and published."""
        return self is Adjacency.REPLACE

    @property
    def in_words(self) -> str:
        """One clause for a reader who is not an expert."""
        if self is Adjacency.ADD_REMOVE:
            return "whether any one person's record is in the table or not"
        return "what any one person's record says, in a table whose number of rows is public"


@dataclass(frozen=True)
class Sensitivity:
    """How far one neighbour step moves a vector of counts; the L2 norm is kept squared so that it is exact."""

    l1: int
    l2_squared: int


_COUNTS = {
    # one cell of a marginal changes by one
    Adjacency.ADD_REMOVE: Sensitivity(l1=1, l2_squared=1),
    # one cell loses one, another gains one
    Adjacency.REPLACE: Sensitivity(l1=2, l2_squared=2),
}


def counts_sensitivity(adjacency: Adjacency) -> Sensitivity:
    """Sensitivity of one marginal's vector of counts."""
    return _COUNTS[adjacency]
