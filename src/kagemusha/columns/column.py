"""What a column is: the parts every kind shares, and the kinds that are not modelled.

Codes of a modelled column: those of its values first, then one for *other* (if any) or for each *special* value of a
column of numbers, then one for *missing* (if allowed). How many there are depends on the declaration alone, never on a
record, and so does the place of every raw value:

* a value outside the domain follows ``out_of_domain``: ``"clip"`` (the nearest bound; for a category the last
  one listed; for a boolean, false), ``"missing"``, ``"other"`` (a bucket with a declared label), or ``"redraw"`` (a
  bucket that doubles never show: they get a listed category in its place);
* a missing value takes the missing code; where missing is not allowed, the place of a value outside the
  domain (for numbers and dates, the lowest bin);
* what cannot be read as a number or a date counts as missing, and so do empty text, unless the empty text is a
  declared category, and the text NaN;
* text is compared exactly: nothing is stripped, case counts. What is no category as it is spelt but says the same
  number as one (`label.py`: 1.0 and true say 1, a date says its day) is that category.

No type in which a table stores a column changes this: each value is read as if it stood alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

from kagemusha.errors import SchemaError
from kagemusha.words.catalogue import Say

if TYPE_CHECKING:
    from kagemusha.columns.cells import Cells
    from kagemusha.columns.labelled import Labelled
    from kagemusha.columns.measured import Measured

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
    dtype: str | None = None
    """The type of the column in the output, in arrow's words; nothing but the schema decides it."""

    kind: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]
    """The fields of the schema file, in the order they are written."""
    beside_codes: ClassVar[frozenset[str]] = frozenset({"name", "derived", "confirmed", "dtype"})
    """Fields that never change the code of a value. Any other one may: whoever makes codes must know its meaning."""

    def given(self, field: str) -> Any:
        """What a field of this kind says, by its name in the schema file."""
        return getattr(self, field)

    @property
    def code_fields(self) -> tuple[str, ...]:
        """The fields which this column uses and on which the codes of its values depend."""
        said = (f.name for f in dataclass_fields(self) if f.name not in self.beside_codes)
        return tuple(name for name in said if self.given(name))

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
        if self.dtype is not None and "dtype" not in self.fields:
            self.fail("dtype", self.dtype, f"left out: kind {self.kind} has one type only")
        self._validate()

    @abstractmethod
    def _validate(self) -> None:
        """Check and normalise the fields of this kind."""

    @property
    def axis(self) -> Measured | None:
        """The column itself if its values lie on an axis of numbers, where they have an order and distances."""
        return None

    @property
    def as_labels(self) -> Labelled | None:
        """The column itself if its values are labels."""
        return None

    in_doubles: ClassVar[bool] = True
    """Whether doubles have the column."""

    def output(self, cells: Cells | None, first: int, rows: int) -> Any:
        """An arrow array of so many rows for doubles.

        Of values, or of identifiers that go on after the `first` ones.
        """
        raise NotImplementedError(f"{self.kind} is not in doubles")

    has_domain: ClassVar[bool] = False
    """Whether a person has to say which values there are: categories or bounds."""

    @property
    def may_lack(self) -> bool:
        """Whether a value may be missing."""
        return False

    @abstractmethod
    def described(self, say: Say = str.format) -> str:
        """What the schema says of the column, in a sentence of the reader's language."""

    @property
    def beginnings(self) -> Sequence[str]:
        """How the texts that doubles show in this column begin; none for columns of numbers."""
        return ()

    def kind_only(self) -> Column:
        """The same column with nothing said but its kind, so that the rest can be found privately."""
        return self

    def fail(self, field: str, given: object, allowed: str) -> NoReturn:
        """Raise the error for one wrong field; declared values are public, so the given one is shown."""
        raise SchemaError(f"column {self.name!r}: {field} = {shown(given)} is not allowed; it must be {allowed}")

    def _check_flag(self, field: str) -> None:
        if not isinstance(self.given(field), bool):
            self.fail(field, self.given(field), "true or false")

    def _check_text(self, field: str) -> None:
        if not isinstance(self.given(field), str):
            self.fail(field, self.given(field), "a text")

    def _check_lines(self, *fields: str) -> None:
        for field in fields:
            lines = self.given(field)
            if not isinstance(lines, tuple | list) or not all(
                isinstance(line, tuple | list) and all(isinstance(name, str) for name in line) for line in lines
            ):
                self.fail(field, lines, "a list of lists of texts")
            object.__setattr__(self, field, tuple(map(tuple, lines)))

    def _check_count(self, field: str, low: int, high: int) -> None:
        value = self.given(field)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(field, value, f"a whole number from {low} to {high}")


def shown(given: object) -> str:
    """A declared value as an error message shows it: shortened, whatever it is."""
    try:
        text = repr(given)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return "(a value too long to show)"
    return text if len(text) <= 80 else text[:77] + "..."
