"""Ranges of options: an error names the option, what is allowed, and what was given."""

from __future__ import annotations

from collections.abc import Collection

from kagemusha.errors import UsageError


def at_least(low: float, **given: float) -> None:
    """Refuse what is below."""
    for name, value in given.items():
        if not value >= low:
            raise UsageError(f"{name} must be at least {low:,}, got {value}")


def between(low: float, high: float, **given: float) -> None:
    """Refuse what is not strictly between."""
    for name, value in given.items():
        if not low < value < high:
            raise UsageError(f"{name} must be greater than {low:,} and less than {high:,}, got {value}")


def one_of(allowed: Collection[str], **given: str) -> None:
    """Refuse any other word."""
    for name, value in given.items():
        if value not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
