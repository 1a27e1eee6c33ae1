"""The neighbouring relation: which two tables the guarantee cannot tell apart. What that does to a sensitivity: `unit`."""

from __future__ import annotations

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
