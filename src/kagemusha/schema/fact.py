"""What a release must know of a column before it begins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """One field of one column, such as the upper bound of age."""

    column: str
    field: str

    def __str__(self) -> str:
        return f"{self.column}.{self.field}"
