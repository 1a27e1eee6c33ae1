"""What a column is: the parts every kind shares, and the kinds that are not modelled.

Codes of a modelled column: the ordinary codes first, then one for *other* (if any) or for each *special* value of a
column of numbers, then one for *missing* (if allowed). How many there are depends on the declaration alone, never on a record, and so does the place of
every raw value:

* a value outside the domain follows ``out_of_domain``: ``"clip"`` (the nearest bound; for a category the last
  one listed; for a boolean, false), ``"missing"``, ``"other"`` (a bucket with a declared label), or ``"redraw"`` (a bucket
  that doubles never show: they get a listed category in its place);
* a missing value takes the missing code; where missing is not allowed, the place of a value outside the
  domain (for numbers and dates, the lowest bin);
* what cannot be read as a number or a date counts as missing, and so do empty text, unless the empty text is a
  declared category, and the text NaN;
* text is compared exactly: nothing is stripped, case counts. What is no category as it is spelt but says the same
  number as one (`spelling.py`: 1.0 and true say 1, a date says its day) is that category.

No type in which a table stores a column changes this: each value is read as if it stood alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar, Literal, NoReturn, get_args

from kagemusha.errors import SchemaError

OutOfDomain = Literal["clip", "missing", "other", "redraw"]
"""Where a value outside the declared domain is counted."""

INTEGER_TYPES = {
    f"{sign}int{bits}": (0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""The types of whole numbers that output may have, and the numbers each of them holds."""

MAX_CODES = 10_000_000
"""More codes than any marginal could use; a declaration beyond it is a mistake."""


@dataclass(frozen=True)
class Column(ABC):
    """One declared column. `derived` lists the fields that were taken from data and not yet confirmed."""

    name: str
    _: KW_ONLY
    derived: tuple[str, ...] = ()
    confirmed: str | None = None
    """Who vouches for what is said here, and from which source."""

    kind: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]
    """The fields of the schema file, in the order they are written."""
    beside_codes: ClassVar[frozenset[str]] = frozenset({"name", "derived", "confirmed"})
    """Fields that never change the code of a value. Any other one may: whoever makes codes must know its meaning."""

    @property
    def code_fields(self) -> tuple[str, ...]:
        """The fields which this column uses and on which the codes of its values depend."""
        said = (f.name for f in dataclass_fields(self) if f.name not in self.beside_codes)
        return tuple(name for name in said if getattr(self, name))

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"column {self.name!r}: the name must be a text of at least one character")
        if not isinstance(self.derived, tuple | list) or not all(isinstance(field, str) for field in self.derived):
            self.fail("derived", self.derived, "a list of field names")
        object.__setattr__(self, "derived", tuple(self.derived))
        if self.confirmed is not None and (not isinstance(self.confirmed, str) or len(self.confirmed) > 1_000):
            self.fail("confirmed", self.confirmed, "a text: who, and from which source")
        known = ("kind", *self.fields)
        for field in self.derived:
            if field not in known:
                self.fail("derived", field, f"names of fields of this column: {', '.join(known)}")
        self._validate()

    @abstractmethod
    def _validate(self) -> None:
        """Check and normalise the fields of this kind."""

    def kind_only(self) -> Column:
        """The same column with nothing said but its kind, so that the rest can be found privately."""
        return self

    def fail(self, field: str, given: object, allowed: str) -> NoReturn:
        """Raise the error for one wrong field; declared values are public, so the given one is shown."""
        raise SchemaError(f"column {self.name!r}: {field} = {shown(given)} is not allowed; it must be {allowed}")

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
    dtype: str | None = None
    """The type of the column in the output, in arrow's words; nothing but the schema decides it."""

    beside_codes: ClassVar[frozenset[str]] = Column.beside_codes | {"dtype"}
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
        if self.dtype is not None and "dtype" not in self.fields:
            self.fail("dtype", self.dtype, f"left out: kind {self.kind} has one type only")

    def _check_dtype(self, types: Mapping[str, tuple[int, int]], numbers: Iterable[int]) -> None:
        """Whether the declared type is one of `types` that holds all the numbers the column may show."""
        if self.dtype is None:
            return
        shows = list(numbers)
        fitting = [name for name, (low, high) in types.items() if all(low <= number <= high for number in shows)]
        if self.dtype not in fitting:
            why = " (the others do not hold the domain)" if len(fitting) < len(types) else ""
            allowed = f"left out or one of {', '.join(fitting)}" if fitting else "left out"
            self.fail("dtype", self.dtype, f"{allowed}{why}")

    def _default_rule(self) -> OutOfDomain:
        return self.rules[0]

    def kind_only(self) -> Column:
        """The same column with nothing said but its kind and form; values may be missing, which says nothing of the data."""
        form = self._form()
        told = tuple(field for field in self.derived if field == "kind" or field in form)
        return type(self)(self.name, missing=True, derived=told, **form)

    def _form(self) -> dict[str, Any]:
        """Fields that say how values are written, not which there are: these are kept where the rest is left open."""
        return {}

    @property
    def code_names(self) -> list[str]:
        """What each code is called, for people."""
        names = [*self._ordinary_names(), *self._special_names()]
        return names + ["(missing)"] * (self.size - len(names))

    @abstractmethod
    def _ordinary_names(self) -> list[str]:
        """The names of all codes but those of special values and of a missing one."""

    def _special_names(self) -> list[str]:
        return []

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
    def unseen_code(self) -> int | None:
        """The code of that bucket where doubles never show it, since nobody declared a label for it."""
        return self.other_code if self.out_of_domain == "redraw" else None

    @property
    def missing_code(self) -> int | None:
        """The code of a missing value, if missing is allowed."""
        return self.size - 1 if self.missing else None

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.ordinary + (self.other_code is not None) + self.missing


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


def shown(given: object) -> str:
    """A declared value as an error message shows it: shortened, whatever it is."""
    try:
        text = repr(given)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return "(a value too long to show)"
    return text if len(text) <= 80 else text[:77] + "..."
