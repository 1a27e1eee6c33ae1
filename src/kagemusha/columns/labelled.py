"""Columns whose values are labels, found by their text or by the number it says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.arrow import arrow_type, by_distinct, plain_values
from kagemusha.columns.bins import Span, code_type
from kagemusha.columns.cells import Cells
from kagemusha.columns.label import COMPARE, NOT_A_NUMBER, Label, canonical, days_of, number_of, number_text, text_of
from kagemusha.columns.modelled import Modelled
from kagemusha.columns.pushed import Pushed, empty_text, may_speak
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.columns.values import GAPS, UNREADABLE, Elapsed, Instant, Plain
from kagemusha.columns.words import MAY_LACK, some
from kagemusha.errors import UsageError
from kagemusha.words.catalogue import Say

if TYPE_CHECKING:
    from kagemusha.columns.dialect import Dialect, DuckDialect
    from kagemusha.columns.parse import TextReader


HELD = ("string", "category", "ordered")
"""How frames may hold labels: as texts of a type of their own, or as categories."""


@dataclass(frozen=True)
class Labelled(Modelled):
    """A column whose raw values are found among labels, by the rule of `find`."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The raw value of each code except missing."""

    @property
    def as_labels(self) -> Labelled:
        return self

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
    def outside_code(self) -> int:
        """Where a value outside the domain is counted."""

    @property
    def missing_or_outside_code(self) -> int:
        return self.outside_code if self.missing_code is None else self.missing_code

    # the codes of raw values

    def code_of(self, value: Plain, reader: TextReader | None = None) -> int:
        if value is None:
            return self.missing_or_outside_code
        if isinstance(value, Elapsed):
            value = UNREADABLE
        code = self.find(days_of(value.microseconds) if isinstance(value, Instant) else value)
        if code is not None:
            return code
        return self.missing_or_outside_code if value in GAPS else self.outside_code

    def encode_plain(self, values: Sequence[Plain], reader: TextReader | None = None) -> Codes:
        return np.array([self.code_of(value) for value in values], dtype=code_type(self.size))

    def encode_chunk(self, values: Any, reader: TextReader) -> Codes:
        """Codes of an arrow array, each distinct value looked up once."""
        found: Codes = by_distinct(values, lambda distinct: self.encode_plain(plain_values(distinct)))
        return found

    def read(self, values: Any, reader: TextReader) -> Cells:
        return self.cells_of(self.encode(values, reader).astype(np.int64))

    def codes_of_numbers(self, numbers: NDArray[Any]) -> Codes:
        """Codes of the labels that say some numbers."""
        kind = code_type(self.size)
        codes = np.full(len(numbers), self.outside_code, dtype=kind)
        if self.has_groups:
            distinct, places = np.unique(numbers, return_inverse=True)
            found = (self.find(float(number)) for number in distinct)
            return np.array([self.outside_code if code is None else code for code in found], dtype=kind)[places]
        if self.numbers:
            keys = np.array(sorted(self.numbers))
            at = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
            same = keys[at] == numbers
            codes[same] = np.array([self.numbers[key] for key in keys.tolist()], dtype=kind)[at[same]]
        return codes

    # the same in SQL

    def of_moment(self, microseconds: str, dialect: Dialect) -> str:
        """Its days since 1970, as of any number."""
        return dialect.days(microseconds)

    def of_number(self, number: str, dialect: Dialect) -> str:
        """The label that says the same number."""
        found = {code: dialect.real(said) for said, code in self.numbers.items()}
        cases = " ".join(f"WHEN {number} = {said} THEN {code}" for code, said in found.items())
        return f"CASE {cases} ELSE {self.outside_code} END" if cases else str(self.outside_code)

    def pushed_text(self, text: str, missing: str, dialect: Dialect) -> Pushed:
        """The label that is spelt so; a text that is none may still say the number that one of them says."""
        found, known = dialect.lookup(self.texts, text)
        empty = empty_text(text, dialect)
        later = f"WHEN {empty} THEN {self.missing_or_outside_code} ELSE {self.outside_code}"
        code = f"CASE WHEN {missing} THEN {self.missing_or_outside_code} {found} {later} END"
        if not self.numbers:
            return Pushed(code)
        return Pushed(code, f"({missing} OR {known} OR {empty} OR NOT {may_speak(text, dialect)})")

    def native_in_duck(self, stored: Stored, plain: str, duck: DuckDialect) -> str:
        """The number that it says."""
        return duck.days(plain) if stored in MOMENTS else duck.numbered(plain, stored)

    def text_in_duck(self, text: str, duck: DuckDialect, types: dict[str, list[str]]) -> tuple[str, bool]:
        """Its code. Where no label says a number or stands for a group, nothing is left to be read."""
        settled = not (self.numbers or self.has_groups)
        empty = f"CASE WHEN {text} IS NULL OR {empty_text(text, duck)} THEN {self.missing_or_outside_code} END"
        code = f"coalesce({duck.label(self.texts, text, types)}, {empty}{f', {self.outside_code}' if settled else ''})"
        return code, settled

    def codes_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Codes:
        """Codes as they are, or of the labels that say the numbers."""
        import pyarrow as pa

        numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
        if pa.types.is_integer(values.type):
            codes: Codes = numbers.astype(code_type(self.size))
        else:
            codes = self.codes_of_numbers(numbers)
            codes[values.is_null().to_numpy(zero_copy_only=False)] = self.missing_or_outside_code
        if texts is not None:
            codes[texts.is_valid().to_numpy(zero_copy_only=False)] = self.encode_arrow(texts.drop_null(), reader)
        return codes

    def cells_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Cells:
        return self.cells_of(self.codes_in_duck(values, texts, reader).astype(np.int64))

    # values of codes

    def cells_of(self, codes: IntArray, numbers: NDArray[Any] | None = None) -> Cells:
        return Cells(codes, np.zeros(len(codes)))

    def draw(
        self, codes: IntArray, *, rng: np.random.Generator, within: Span | None = None, shape: FloatArray | None = None
    ) -> Cells:
        return self.cells_of(codes)

    def arrow_of(self, cells: Cells) -> Any:
        """The labels, in the type that they all have; those of mixed types are texts."""
        import pyarrow as pa

        labels: list[Label | None] = list(self.labels)
        kinds = {type(label) for label in labels}
        if kinds == {bool}:
            kind = pa.bool_()
        elif kinds == {int} and (whole := self._whole_type()) is not None:
            kind = whole
        else:
            kind, labels = pa.string(), [text_of(label) for label in self.labels]
        if self.dtype not in ("category", "ordered"):
            return pa.array([*labels, None], type=kind).take(pa.array(cells.codes))
        shown = labels if self.unseen_code is None else labels[: self.unseen_code]
        places = pa.array(cells.codes, mask=self.lacking(cells), type=pa.int32())
        return pa.DictionaryArray.from_arrays(places, pa.array(shown, type=kind), ordered=self.dtype == "ordered")

    def _whole_type(self) -> Any:
        """The type of whole labels; None if there is none that holds them all."""
        import pyarrow as pa

        if self.dtype is not None and self.dtype not in HELD:
            return arrow_type(self.dtype)
        low, high = min(map(int, self.labels)), max(map(int, self.labels))
        if low >= -(2**63) and high < 2**63:
            return pa.int64()
        return pa.uint64() if low >= 0 and high < 2**64 else None

    @property
    def comes_back(self) -> bool:
        """An empty text comes back as a gap."""
        return "" not in map(text_of, self.labels)

    # what methods, rules and people see

    def feature_table(self, steps: int) -> IntArray:
        """One-hot codes."""
        return np.asarray(steps * np.eye(self.size, dtype=np.int64))

    @property
    def beginnings(self) -> Sequence[str]:
        """The labels, if they are written as texts."""
        return [text_of(label) for label in self.labels] if any(isinstance(one, str) for one in self.labels) else ()

    def lacking(self, cells: Cells) -> NDArray[np.bool_]:
        return np.asarray(cells.codes == (-1 if self.missing_code is None else self.missing_code))

    def truth(self, cells: Cells, operator: str, value: Any) -> NDArray[np.bool_]:
        table = np.append(self.labels_that_hold(operator, value), False)
        return np.asarray(table[np.minimum(cells.codes, len(table) - 1)])

    def check_comparison(self, operator: str, value: Any) -> None:
        self.labels_that_hold(operator, value)

    def labels_that_hold(self, operator: str, value: Any) -> NDArray[np.bool_]:
        """For each label whether a comparison holds."""
        if operator in ("=", "!="):
            same = np.equal(np.arange(len(self.labels)), self.written_code(value))
            return np.asarray(same if operator == "=" else ~same)
        if not isinstance(value, int | float) or not all(isinstance(one, int) for one in self.labels):
            raise UsageError(f"where: {self.name} is a category; compare it with = or !=, or use in (…)")
        return np.array([bool(COMPARE[operator](int(label), value)) for label in self.labels])

    def written_code(self, value: Any) -> int:
        """The code of a label that somebody wrote."""
        wanted = self.find(value if isinstance(value, str) else float(value))
        if wanted is None or wanted == self.unseen_code:
            labels = self.labels[: self.unseen_code]
            shown = ", ".join(map(repr, labels[:12])) + (", …" if len(labels) > 12 else "")
            raise UsageError(f"where: {self.name} has no value {value!r}; it has {shown}")
        return wanted

    def described(self, say: Say = str.format) -> str:
        gaps = say(MAY_LACK) if self.missing else ""
        if self.open_fields:
            return say("It is a category whose values are not listed{gaps}.", gaps=gaps)
        # what stands for values outside the list is never shown where doubles get a listed one instead
        shown = [text_of(label) for code, label in enumerate(self.labels) if code != self.unseen_code]
        groups = self._groups_described(say)
        return say("It is one of: {values}{groups}{gaps}.", values=some(shown, say), groups=groups, gaps=gaps)

    def _groups_described(self, say: Say) -> str:
        return ""
