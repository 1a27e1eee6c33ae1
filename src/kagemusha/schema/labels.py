"""The kinds whose values are labels: categories and booleans, found by their text or by the number it says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from kagemusha.schema.columns import INTEGER_TYPES, MAX_CODES, Modelled, OutOfDomain
from kagemusha.schema.spelling import EXACT_BELOW, NOT_A_NUMBER, canonical, number_of, number_text

Label = str | int | bool
"""A declared category, in the type the raw table has."""

_TOO_LONG = 10**300


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
        the label that says the same number.
        """
        if isinstance(value, str):
            exact = self.texts.get(value)
            number = number_of(value) if exact is None else None
        else:
            exact, number = None, value
        return exact if number is None else self.numbers.get(number)

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
    is itself declared, it is that category and no code is added. `dtype` is the type of whole numbers in the output
    (int64 if not said).

    Codes that belong together (ICD, postcodes, industries) may say so: `levels` are lengths of beginnings, coarse ones
    first (`[1, 3]`: chapter, block), or `ancestors` gives for each category the names of its groups, coarse ones first. What
    noise drowns is then modelled as part of the smallest group that it does not, instead of all rare codes as one.

    >>> Category("blood", categories=("A", "B", "AB", "O")).labels
    ('A', 'B', 'AB', 'O', 'other')
    """

    _: KW_ONLY
    categories: tuple[Label, ...] | None = None
    other: Label = "other"
    levels: tuple[int, ...] = ()
    ancestors: tuple[tuple[str, ...], ...] = ()

    kind: ClassVar[str] = "category"
    fields: ClassVar[tuple[str, ...]] = (
        "categories",
        "levels",
        "ancestors",
        "missing",
        "out_of_domain",
        "other",
        "dtype",
    )
    rules: ClassVar[tuple[OutOfDomain, ...]] = ("other", "missing", "clip")

    def _validate(self) -> None:
        super()._validate()
        self._check_label("other", self.other)
        levels = self.levels
        if isinstance(levels, str) or not isinstance(levels, Sequence) or any(
            isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in levels
        ) or any(a >= b for a, b in pairwise(levels)):  # fmt: skip
            self.fail("levels", levels, "a list of rising lengths, such as [1, 3]")
        object.__setattr__(self, "levels", tuple(levels))
        if self.ancestors and (self.levels or len(self.ancestors) != len(self.categories or ())):
            self.fail("ancestors", f"{len(self.ancestors)} lines", "a line for each category, without levels beside")
        if len({len(line) for line in self.ancestors}) > 1:
            self.fail("ancestors", "lines of different lengths", "lines of one length")
        if self.categories is None:
            if self.dtype is not None:
                self.fail("dtype", self.dtype, "left out while categories are open: what is found are texts")
            return
        if isinstance(self.categories, str | bytes | Mapping | set | frozenset) or not isinstance(
            self.categories, Iterable
        ):
            self.fail("categories", self.categories, "a list of at least one value")
        object.__setattr__(self, "categories", tuple(self.categories))
        if not self.categories:
            self.fail("categories", [], "a list of at least one value")
        if len(self.categories) > MAX_CODES - 2:
            self.fail("categories", f"{len(self.categories)} values", f"at most {MAX_CODES - 2} values")
        seen: dict[str, Label] = {}
        for value in self.categories:
            self._check_label("categories", value)
            text = canonical(text_of(value))
            if text in seen:
                self.fail("categories", value, _unlike(value, seen[text]))
            seen[text] = value
        if self.dtype is not None:
            if not all(_is_whole(label) for label in self.labels):
                self.fail("dtype", self.dtype, "left out, unless categories (and other) are all whole numbers")
            self._check_dtype(INTEGER_TYPES, [int(label) for label in self.labels])

    def _check_label(self, field: str, value: object) -> None:
        if not isinstance(value, str | int):
            self.fail(field, value, "texts, whole numbers or booleans")
        if isinstance(value, int) and abs(value) >= _TOO_LONG:
            self.fail(field, "a number of more than 300 digits", "texts, whole numbers of fewer digits or booleans")
        if isinstance(value, str) and ("\0" in value or value.encode("utf-8", "ignore").decode() != value):
            self.fail(field, value, "texts without NUL and without half characters")
        if value in NOT_A_NUMBER:
            self.fail(field, value, "another text: tables write missing numbers so; missing = true gives them a place")

    @property
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""
        return () if self.categories is not None else ("categories",)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {canonical(text_of(value)): code for code, value in enumerate(self.categories or ())}

    @property
    def ordinary(self) -> int:
        """Number of codes without *other* and *missing*."""
        return len(self.categories or ())

    @property
    def other_code(self) -> int | None:
        """The code of the other bucket, if it is one of its own."""
        added = self.out_of_domain == "other" and canonical(text_of(self.other)) not in self._positions
        return self.ordinary if added else None

    @property
    def stray_code(self) -> int:
        """Where a value outside the domain is counted."""
        if self.out_of_domain == "missing":
            return self.size - 1
        if self.out_of_domain == "clip":
            return self.ordinary - 1
        return self._positions.get(canonical(text_of(self.other)), self.ordinary)

    def tree(self) -> list[list[str]]:
        """For each level, coarse ones first, the group of every code; other and missing stand alone."""
        texts = [text_of(value) for value in self.categories or ()]
        alone = [f"\0{i}" for i in range(self.size - len(texts))]
        found = [[text[:length] for text in texts] for length in self.levels]
        for level in range(len(self.ancestors[0]) if self.ancestors else 0):
            found.append(["\0".join(line[: level + 1]) for line in self.ancestors])
        return [[*level, *alone] for level in found]

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The raw value of each code except missing."""
        own = self.categories or ()
        return own if self.other_code is None else (*own, self.other)

    @cached_property
    def texts(self) -> Mapping[str, int]:
        """Code of the text of every label, in the order of the codes."""
        return {text_of(value): code for code, value in enumerate(self.labels)}

    @cached_property
    def numbers(self) -> Mapping[float, int]:
        """Code of every number that a label says; of labels that say the same, the one written as tables write it."""
        plain: dict[float, int] = {}
        odd: dict[float, int] = {}
        for text, code in self.texts.items():
            number = number_of(text)
            if number is not None:
                (plain if canonical(text) == number_text(number) else odd).setdefault(number, code)
        return odd | plain


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


def _unlike(value: Label, twin: Label) -> str:
    """What a category must be that reads like an earlier one."""
    if text_of(value) == text_of(twin):
        return "a list without repeats (1 and '1' read the same)"
    number = number_of(text_of(value))
    if number is not None and abs(number) >= EXACT_BELOW:
        return (
            f"told from {twin!r} by float64, into which one gap turns a column of whole numbers; from 2^53 on that fails: "
            "put a letter before such long codes, in the table and here"
        )
    return (
        f"a list without repeats: {twin!r} reads the same (tables write 1 also as 1.0 or true, a date also with a time)"
    )


def _is_whole(label: Label) -> bool:
    return isinstance(label, int) and not isinstance(label, bool)


def _truth_table() -> dict[str, int]:
    words = {"true": 1, "yes": 1, "y": 1, "t": 1, "1": 1, "1.0": 1}
    words |= {"false": 0, "no": 0, "n": 0, "f": 0, "0": 0, "0.0": 0}
    return {spelt: code for word, code in words.items() for spelt in (word, word.upper(), word.title())}


TRUTH: Mapping[str, int] = _truth_table()
"""Texts read as a boolean."""
