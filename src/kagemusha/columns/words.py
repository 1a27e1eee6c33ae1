"""Small parts of sentences about columns."""

from __future__ import annotations

from collections.abc import Sequence

from kagemusha.words.catalogue import Say, noted

FEW = 8
"""Values that are listed before the rest is only counted."""


MAY_LACK = noted("; values may be missing")


def some(values: Sequence[str], say: Say = str.format) -> str:
    """The first values, and how many there are in all."""
    return ", ".join(values[:FEW]) + (say(", … ({n:,} in all)", n=len(values)) if len(values) > FEW else "")
