"""What a column is: the parts every kind shares, and the kinds whose values are labels.

Codes of a modelled column: the ordinary codes first, then one for *other* (if any), then one for *missing*
(if allowed). How many there are depends on the declaration alone, never on a record, and so does the place of
every raw value:

* a value outside the domain follows ``out_of_domain``: ``"clip"`` (the nearest bound; for a category the last
  one listed; for a boolean, false), ``"missing"``, or ``"other"`` (a bucket with a declared label);
* a missing value takes the missing code; where missing is not allowed, the place of a value outside the
  domain (for numbers and dates, the lowest bin);
* text that cannot be read as a number or a date counts as missing. Empty text is missing, unless the empty
  text is a declared category. Text is compared exactly: nothing is stripped, case counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar, Literal, NoReturn, get_args

from kagemusha.errors import SchemaError

OutOfDomain = Literal["clip", "missing", "other"]
"""Where a value outside the declared domain is counted."""

Label = str | int | bool
"""A declared category, in the type the raw table has."""

MAX_CODES = 10_000_000
"""More codes than any marginal could use; a declaration beyond it is a mistake."""


@dataclass(frozen=True)
class Column(ABC):
    """One declared column. `derived` lists the fields that were taken from data and not yet confirmed."""

    name: str
    _: KW_ONLY
    derived: tuple[str, ...] = ()

    kind: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]
    """The fields of the schema file, in the order they are written."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"column {self.name!r}: the name must be a text of at least one character")
        if isinstance(self.derived, str) or not all(isinstance(field, str) for field in self.derived):
            self.fail("derived", self.derived, "a list of field names")
        object.__setattr__(self, "derived", tuple(self.derived))
        known = ("kind", *self.fields)
        for field in self.derived:
            if field not in known:
                self.fail("derived", field, f"names of fields of this column: {', '.join(known)}")
        self._validate()

    @abstractmethod
    def _validate(self) -> None:
        """Check and normalise the fields of this kind."""

    def fail(self, field: str, given: object, allowed: str) -> NoReturn:
        """Raise the error for one wrong field; declared values are public, so the given one is shown."""
        shown = repr(given) if len(repr(given)) <= 80 else repr(given)[:77] + "..."
        raise SchemaError(f"column {self.name!r}: {field} = {shown} is not allowed; it must be {allowed}")

    def _check_flag(self, field: str) -> None:
        if not isinstance(getattr(self, field), bool):
            self.fail(field, getattr(self, field), "true or false")

    def _check_text(self, field: str) -> None:
        if not isinstance(getattr(self, field), str):
            self.fail(field, getattr(self, field), "a text")

    def _check_count(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(field, value, f"a whole number from {low} to {high}")


@dataclass(frozen=True)
class Modelled(Column):
    """A column of the model: it has codes."""

    _: KW_ONLY
    missing: bool = False
    out_of_domain: OutOfDomain | None = None

    rules: ClassVar[tuple[OutOfDomain, ...]]
    """The out-of-domain rules this kind understands, the default first."""

    def _validate(self) -> None:
        self._check_flag("missing")
        if self.out_of_domain is None:
            object.__setattr__(self, "out_of_domain", self._default_rule())
        if self.out_of_domain not in self.rules:
            known = self.out_of_domain in get_args(OutOfDomain)
            why = f" (kind {self.kind} has no such place)" if known else ""
            self.fail("out_of_domain", self.out_of_domain, " or ".join(map(repr, self.rules)) + why)
        if self.out_of_domain == "missing" and not self.missing:
            self.fail("out_of_domain", "missing", "another rule, or missing = true beside it")

    def _default_rule(self) -> OutOfDomain:
        return self.rules[0]

    @property
    @abstractmethod
    def open_fields(self) -> tuple[str, ...]:
        """Fields of the domain that are neither declared nor derived."""

    @property
    @abstractmethod
    def ordinary(self) -> int:
        """Number of codes without *other* and *missing*; the column must not be open."""

    @property
    def other_code(self) -> int | None:
        """The code of the bucket for values outside the domain, if this column has one of its own."""
        return None

    @property
    def missing_code(self) -> int | None:
        """The code of a missing value, if missing is allowed."""
        return self.size - 1 if self.missing else None

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.ordinary + (self.other_code is not None) + self.missing


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


@dataclass(frozen=True)
class Drop(Column):
    """A column left out of the release (identifiers, free text); `reason` says why."""

    _: KW_ONLY
    reason: str = "identifier or free text"

    kind: ClassVar[str] = "drop"
    fields: ClassVar[tuple[str, ...]] = ("reason",)

    def _validate(self) -> None:
        self._check_text("reason")


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


def text_of(value: Label) -> str:
    """The text under which a declared value is found in a raw table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


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
