"""Booleans: true or false in any of their spellings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from kagemusha.columns.column import OutOfDomain
from kagemusha.columns.label import Label
from kagemusha.columns.labelled import Labelled


@dataclass(frozen=True)
class Boolean(Labelled):
    """True or false, also written 1/0, yes/no, y/n, t/f in lower, upper or title case."""

    kind: ClassVar[str] = "boolean"
    fields: ClassVar[tuple[str, ...]] = ("missing", "out_of_domain")
    in_engines: ClassVar[frozenset[str]] = frozenset(fields)
    rules: ClassVar[tuple[OutOfDomain, ...]] = ("clip", "missing")

    def _default_rule(self) -> OutOfDomain:
        return "missing" if self.missing else "clip"

    @property
    def open_fields(self) -> tuple[str, ...]:
        return ()

    @property
    def n_values(self) -> int:
        return 2

    @property
    def outside_code(self) -> int:
        return 2 if self.out_of_domain == "missing" else 0

    @property
    def labels(self) -> tuple[Label, ...]:
        return (False, True)

    @property
    def texts(self) -> Mapping[str, int]:
        return TRUTH

    @property
    def numbers(self) -> Mapping[float, int]:
        """One is true, zero is false."""
        return {0.0: 0, 1.0: 1}

    def first_cut(self) -> Self:
        """Both values are known."""
        return self

    def typical(self, categories: int, bins: int) -> Self:
        """Both values are known."""
        return self


def _truth_table() -> dict[str, int]:
    words = {"true": 1, "yes": 1, "y": 1, "t": 1, "1": 1, "1.0": 1}
    words |= {"false": 0, "no": 0, "n": 0, "f": 0, "0": 0, "0.0": 0}
    return {spelt: code for word, code in words.items() for spelt in (word, word.upper(), word.title())}


TRUTH: Mapping[str, int] = _truth_table()
"""Texts read as a boolean."""
