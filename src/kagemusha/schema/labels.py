"""The kinds whose values are labels: categories and booleans, found in a table of accepted texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

from kagemusha.schema.columns import MAX_CODES, Modelled, OutOfDomain

Label = str | int | bool
"""A declared category, in the type the raw table has."""


@dataclass(frozen=True)
class Labelled(Modelled):
    """A column whose raw values are found in a table of accepted texts."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The raw value of each code except missing."""

    @property
    @abstractmethod
    def texts(self) -> Mapping[str, int]:
        """Code of every accepted text."""

    @property
    @abstractmethod
    def stray_code(self) -> int:
        """Where a value outside the domain is counted."""

    @property
    def empty_code(self) -> int:
        """Where a missing value is counted."""
        return self.stray_code if self.missing_code is None else self.missing_code


@dataclass(frozen=True)
class Category(Labelled):
    """One of a declared list of values (texts, whole numbers or booleans).

    With ``out_of_domain = "other"`` (the default) the label `other` stands for everything else. If that label
    is itself declared, it is that category and no code is added.

    >>> Category("blood", categories=("A", "B", "AB", "O")).labels
    ('A', 'B', 'AB', 'O', 'other')
    """

    _: KW_ONLY
    categories: tuple[Label, ...] | None = None
    other: Label = "other"

    kind: ClassVar[str] = "category"
    fields: ClassVar[tuple[str, ...]] = ("categories", "missing", "out_of_domain", "other")
    rules: ClassVar[tuple[OutOfDomain, ...]] = ("other", "missing", "clip")

    def _validate(self) -> None:
        super()._validate()
        if not isinstance(self.other, str | int):
            self.fail("other", self.other, "a text, a whole number or a boolean")
        if self.categories is None:
            return
        if isinstance(self.categories, str) or not len(self.categories):
            self.fail("categories", self.categories, "a list of at least one value")
        object.__setattr__(self, "categories", tuple(self.categories))
        if len(self.categories) > MAX_CODES - 2:
            self.fail("categories", f"{len(self.categories)} values", f"at most {MAX_CODES - 2} values")
        seen: set[str] = set()
        for value in self.categories:
            if not isinstance(value, str | int):
                self.fail("categories", value, "texts, whole numbers or booleans")
            if not _storable(value):
                self.fail("categories", value, "texts without NUL and without half characters")
            if text_of(value) in seen:
                self.fail("categories", value, "a list without repeats (1 and '1' read the same)")
            seen.add(text_of(value))

    @property
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""
        return () if self.categories is not None else ("categories",)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {text_of(value): code for code, value in enumerate(self.categories or ())}

    @property
    def ordinary(self) -> int:
        """Number of codes without *other* and *missing*."""
        return len(self.categories or ())

    @property
    def other_code(self) -> int | None:
        """The code of the other bucket, if it is one of its own."""
        added = self.out_of_domain == "other" and text_of(self.other) not in self._positions
        return self.ordinary if added else None

    @property
    def stray_code(self) -> int:
        """Where a value outside the domain is counted."""
        if self.out_of_domain == "missing":
            return self.size - 1
        if self.out_of_domain == "clip":
            return self.ordinary - 1
        return self._positions.get(text_of(self.other), self.ordinary)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The raw value of each code except missing."""
        own = self.categories or ()
        return own if self.other_code is None else (*own, self.other)

    @cached_property
    def texts(self) -> Mapping[str, int]:
        """Code of every accepted text."""
        table = {text_of(value): code for code, value in enumerate(self.labels)}
        for code, value in enumerate(self.labels):
            for spelling in _spellings(value):
                table.setdefault(spelling, code)
        return table


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
        """Code of every accepted text."""
        return TRUTH


def text_of(value: Label) -> str:
    """The text under which a declared value is found in a raw table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _storable(value: Label) -> bool:
    text = str(value)
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


def _spellings(value: Label) -> tuple[str, ...]:
    """Other texts that common writers use for the same value."""
    if isinstance(value, bool):
        return (str(value), str(value).upper())
    # A table with gaps often stores whole numbers as floats, and then 1 is written 1.0.
    return (f"{value}.0",) if isinstance(value, int) else ()


def _truth_table() -> dict[str, int]:
    words = {"true": 1, "yes": 1, "y": 1, "t": 1, "1": 1, "1.0": 1}
    words |= {"false": 0, "no": 0, "n": 0, "f": 0, "0": 0, "0.0": 0}
    return {spelt: code for word, code in words.items() for spelt in (word, word.upper(), word.title())}


TRUTH: Mapping[str, int] = _truth_table()
"""Texts read as a boolean."""
