"""One thing that was looked at, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kagemusha.pages import card


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    passed: bool
    detail: str
    caution: bool = False
    """It passed, but less is known than a reader might think."""


class Checks(list[Check]):
    """What was looked at, in order; a notebook shows it as a table."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return bool(self) and all_passed(self)

    def _repr_html_(self) -> str:
        facts = {check.what: f"{'✓' if check.passed else '✗'} {check.detail}" for check in self}
        return card("intact" if self.passed else "NOT intact", facts)


def all_passed(checks: Sequence[Check]) -> bool:
    """Whether nothing is wrong."""
    return all(check.passed for check in checks)
