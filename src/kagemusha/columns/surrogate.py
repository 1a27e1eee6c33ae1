"""Identifiers that are made up anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from kagemusha.columns.cells import Cells
from kagemusha.columns.column import Column
from kagemusha.words.catalogue import Say


@dataclass(frozen=True)
class Surrogate(Column):
    """An identifier that the output replaces by fresh ones: prefix and running number, such as P000001."""

    _: KW_ONLY
    prefix: str = "P"
    digits: int = 6

    kind: ClassVar[str] = "surrogate"
    fields: ClassVar[tuple[str, ...]] = ("prefix", "digits")

    def _validate(self) -> None:
        self._check_text("prefix")
        self._check_count("digits", 1, 18)

    def output(self, cells: Cells | None, first: int, rows: int) -> Any:
        import pyarrow as pa

        numbers = range(first + 1, first + rows + 1)
        return pa.array([f"{self.prefix}{i:0{self.digits}d}" for i in numbers], type=pa.string())

    @property
    def beginnings(self) -> Sequence[str]:
        """The prefix."""
        return [f"{self.prefix}0"]

    def described(self, say: Say = str.format) -> str:
        return say("It is a {kind}: fresh identifiers take its place.", kind=self.kind)
