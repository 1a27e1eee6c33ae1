"""Columns that are left out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from kagemusha.columns.column import Column
from kagemusha.words.catalogue import Say


@dataclass(frozen=True)
class Drop(Column):
    """A column left out of the release (identifiers, free text); `reason` says why."""

    _: KW_ONLY
    reason: str = "identifier or free text"

    in_doubles: ClassVar[bool] = False
    kind: ClassVar[str] = "drop"
    fields: ClassVar[tuple[str, ...]] = ("reason",)

    def _validate(self) -> None:
        self._check_text("reason")

    def described(self, say: Say = str.format) -> str:
        return say("It is left out of the doubles: {reason}.", reason=self.reason)
