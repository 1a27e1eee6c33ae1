"""Columns whose values are labels, found by their text or by the number it says; and booleans, one of the two kinds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kagemusha.schema.columns import Modelled, OutOfDomain
from kagemusha.schema.spelling import NOT_A_NUMBER, canonical, number_of, number_text

Label = str | int | bool
"""A declared category, in the type the raw table has."""


@dataclass(frozen=True)
class Labelled(Modelled):
    """A column whose raw values are found among labels, by the rule of `find`."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The raw value of each code except missing."""

    def _ordinary_names(self) -> list[str]:
        return [text_of(label) for label in self.labels]

    @property
    @abstractmethod
    def texts(self) -> Mapping[str, int]:
        """Code of every text that is accepted as it is."""

    @property
    @abstractmethod
    def numbers(self) -> Mapping[float, int]:
        """Code of every number that a label says."""

    def find(self, value: str | float) -> int | None:
        """The code of a text or number, None if it is no label.

        A text is the label that is spelt so. A number, and a text that is spelt like no label but says a number, is
        the label that says the same number. What is none of them is the smallest of its groups that is a label.
        """
        if isinstance(value, str):
            exact = self.texts.get(value)
            number = number_of(value) if exact is None else None
        else:
            exact, number = None, value
        found = exact if number is None else self.numbers.get(number)
        if found is None and self.has_groups and value not in NOT_A_NUMBER:
            groups = self.groups_of(canonical(value) if isinstance(value, str) else number_text(value))
            found = next((self.texts[group] for group in groups if group in self.texts), None)
        return found

    @property
    def has_groups(self) -> bool:
        """Whether a value that is no label may belong to one."""
        return False

    def groups_of(self, text: str) -> tuple[str, ...]:
        """The groups that a value belongs to by its canonical text, the smallest first."""
        return ()

    @property
    @abstractmethod
    def stray_code(self) -> int:
        """Where a value outside the domain is counted."""

    @property
    def empty_code(self) -> int:
        """Where a missing value is counted."""
        return self.stray_code if self.missing_code is None else self.missing_code


@dataclass(frozen=True)
class Boolean(Labelled):
    """True or false, also written 1/0, yes/no, y/n, t/f in lower, upper or title case."""

    kind: ClassVar[str] = "boolean"
    fields: ClassVar[tuple[str, ...]] = ("missing", "out_of_domain")
    rules: ClassVar[tuple[OutOfDomain, ...]] = ("clip", "missing")

    def _default_rule(self) -> OutOfDomain:
        return "missing" if self.missing else "clip"

    @property
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""
        return ()

    @property
    def ordinary(self) -> int:
        """Number of codes without *other* and *missing*."""
        return 2

    @property
    def stray_code(self) -> int:
        """Where a value outside the domain is counted."""
        return 2 if self.out_of_domain == "missing" else 0

    @property
    def labels(self) -> tuple[Label, ...]:
        """The raw value of each code except missing."""
        return (False, True)

    @property
    def texts(self) -> Mapping[str, int]:
        """Code of every text that is accepted as it is."""
        return TRUTH

    @property
    def numbers(self) -> Mapping[float, int]:
        """One is true, zero is false."""
        return {0.0: 0, 1.0: 1}


def text_of(value: Label) -> str:
    """The text under which a declared value is found in a raw table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def compatible(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels that one column may declare together: of those that read alike the first."""
    kept: dict[str, Label] = {}
    for label in labels:
        if label not in NOT_A_NUMBER:
            kept.setdefault(canonical(text_of(label)), label)
    return tuple(kept.values())


def _truth_table() -> dict[str, int]:
    words = {"true": 1, "yes": 1, "y": 1, "t": 1, "1": 1, "1.0": 1}
    words |= {"false": 0, "no": 0, "n": 0, "f": 0, "0": 0, "0.0": 0}
    return {spelt: code for word, code in words.items() for spelt in (word, word.upper(), word.title())}


TRUTH: Mapping[str, int] = _truth_table()
"""Texts read as a boolean."""
