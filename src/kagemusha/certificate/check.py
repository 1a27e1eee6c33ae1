"""One thing that was looked at, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    passed: bool
    detail: str
    caution: bool = False
    """It passed, but less is known than a reader might think."""


def all_passed(checks: Sequence[Check]) -> bool:
    """Whether nothing is wrong."""
    return all(check.passed for check in checks)
