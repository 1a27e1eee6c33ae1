"""Small parts of sentences about columns."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 8
"""Values that are listed before the rest is only counted."""


def some(values: Sequence[str]) -> str:
    """The first values, and how many there are in all."""
    return ", ".join(values[:FEW]) + (f", … ({len(values):,} in all)" if len(values) > FEW else "")
