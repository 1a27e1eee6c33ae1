"""Columns that are in the model: what the two bases, labels and axis, have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.arrow import check_flat, chunks_of, not_flat, plain_values
from kagemusha.columns.bins import Span, code_type
from kagemusha.columns.cells import Cells
from kagemusha.columns.column import Column, OutOfDomain
from kagemusha.columns.stored import MOMENTS, NUMBERS, Stored
from kagemusha.columns.values import Plain

if TYPE_CHECKING:
    from kagemusha.columns.dialect import Dialect, DuckDialect
    from kagemusha.columns.parse import TextReader
    from kagemusha.columns.pushed import Pushed


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
        """The same column with nothing said but its kind and form; values may be missing."""
        form = self._form()
        kept = tuple(field for field in self.derived if field == "kind" or field in form)
        return type(self)(self.name, missing=True, derived=kept, **form)

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
    def n_values(self) -> int:
        """Number of codes without *other* and *missing*; the column must not be open."""

    def apart(self) -> Modelled:
        """The same column with a code of its own, the last, for every cell that has no value of the domain."""
        declared = self.out_of_domain == "other"  # then what is not listed has a label, and is in its place
        return replace(self, missing=True, out_of_domain=self.out_of_domain if declared else "missing", dtype=None)

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
        return self.n_values + (self.other_code is not None) + self.missing

    @property
    def may_lack(self) -> bool:
        return self.missing

    # the codes of raw values

    @property
    @abstractmethod
    def missing_or_outside_code(self) -> int:
        """Where a missing value is counted."""

    @abstractmethod
    def code_of(self, value: Plain, reader: TextReader) -> int:
        """The code of one plain value: the definition that every faster path is held to."""

    @abstractmethod
    def encode_plain(self, values: Sequence[Plain], reader: TextReader) -> Codes:
        """Codes of plain values."""

    @abstractmethod
    def encode_chunk(self, values: Any, reader: TextReader) -> Codes:
        """Codes of an arrow array of a flat type."""

    def encode_arrow(self, values: Any, reader: TextReader) -> Codes:
        """Codes of an arrow (chunked) array, in the smallest integer type that holds them."""
        import pyarrow as pa

        check_flat(self.name, self.kind, values.type)
        parts = []
        for chunk in chunks_of(values):
            codes = None
            with suppress(pa.ArrowException):
                codes = self.encode_chunk(chunk, reader)
            # What arrow cannot do for the column is done value by value.
            parts.append(self.encode_plain(plain_values(chunk), reader) if codes is None else codes)
        return np.concatenate(parts) if parts else np.empty(0, dtype=code_type(self.size))

    def encode(self, values: Any, reader: TextReader) -> Codes:
        """Codes of an arrow array, or of a list of plain values."""
        return self.encode_plain(values, reader) if isinstance(values, list) else self.encode_arrow(values, reader)

    @abstractmethod
    def read(self, values: Any, reader: TextReader) -> Cells:
        """An arrow array, or a list of plain values, as rules and formulas see them."""

    # the same in SQL

    native: ClassVar[frozenset[Stored]] = MOMENTS | NUMBERS
    """How values may be stored to be coded without becoming text first."""
    in_engines: ClassVar[frozenset[str]]
    """The fields whose meaning for codes is written in SQL. A column that uses others of them is read here."""

    @property
    def not_in_sql(self) -> tuple[str, ...]:
        """The fields of a column for which engines cannot make its codes, so that its rows come over as they are."""
        return tuple(field for field in self.code_fields if field not in self.in_engines)

    @property
    def read_here(self) -> tuple[str, ...]:
        """Why rows with a value of this column may come over as they are, whatever the value; nothing if not."""
        return self.not_in_sql

    @abstractmethod
    def pushed_text(self, text: str, missing: str, dialect: Dialect) -> Pushed:
        """The expressions of a column that is stored as text."""

    @abstractmethod
    def of_moment(self, microseconds: str, dialect: Dialect) -> str:
        """SQL: what a moment, in microseconds since 1970, says in this column."""

    @abstractmethod
    def of_number(self, number: str, dialect: Dialect) -> str:
        """SQL: the code of what a value says."""

    def place_of(self, said: str, dialect: Dialect) -> str:
        """SQL: where lies what a value says."""
        return said

    def plain_sql(self, stored: Stored, x: str, dialect: DuckDialect) -> str:
        """SQL for files: the plain form of a stored value, as far as this kind reads it."""
        if stored == "nested":
            raise not_flat(self.name, self.kind)
        if stored in MOMENTS and stored not in self.native:
            return dialect.moment_text(x, stored)
        return dialect.raw(x, "other" if stored == "interval" and stored not in self.native else stored)

    @abstractmethod
    def native_in_duck(self, stored: Stored, plain: str, duck: DuckDialect) -> str:
        """SQL for files: what the plain form of a native value says, NULL if nothing."""

    @abstractmethod
    def text_in_duck(self, text: str, duck: DuckDialect, types: dict[str, list[str]]) -> tuple[str, bool]:
        """SQL for files: what a text says, NULL if it is to be read otherwise; and whether no text ever is."""

    @abstractmethod
    def codes_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Codes:
        """Codes from what these gave for a batch, and from the texts that are still to be read, if there are any."""

    @abstractmethod
    def cells_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Cells:
        """The same as rules and formulas see them."""

    # values of codes

    @abstractmethod
    def cells_of(self, codes: IntArray, numbers: NDArray[Any] | None = None) -> Cells:
        """Codes, with the numbers that stand for them on an axis, as rules and formulas see them."""

    @abstractmethod
    def draw(
        self, codes: IntArray, *, rng: np.random.Generator, within: Span | None = None, shape: FloatArray | None = None
    ) -> Cells:
        """Values of codes: inside their bins by a `shape` (see `bins.draw`), in the part `within` them uniformly."""

    @abstractmethod
    def arrow_of(self, cells: Cells) -> Any:
        """The arrow array of values, in the type and format of the schema."""

    def output(self, cells: Cells | None, first: int, rows: int) -> Any:
        assert cells is not None, "a column of the model has values"
        return self.arrow_of(cells)

    def as_written(self, written: Callable[[str], str]) -> Modelled:
        """The column of a file in which every text is written in another way."""
        return self

    @property
    @abstractmethod
    def comes_back(self) -> bool:
        """Whether a code written to a file and read again is the same code: numbers may be rounded."""

    # what methods and reports see

    @property
    def sort(self) -> str:
        """What the values are to whoever looks at them: labels, numbers or moments."""
        return "label"

    @abstractmethod
    def feature_table(self, steps: int) -> IntArray:
        """A few numbers for each code, in units of 1/steps: fixed by the declaration alone."""

    def tree(self) -> list[list[str]]:
        """For each level of groups, coarse ones first, the group of every code."""
        return []

    @property
    def advice(self) -> list[str]:
        """What a person should still think about, in a sentence each."""
        return ["only one code: the column can say nothing"] if self.size == 1 else []

    @abstractmethod
    def lacking(self, cells: Cells) -> NDArray[np.bool_]:
        """Which values are missing."""

    @abstractmethod
    def truth(self, cells: Cells, operator: str, value: Any) -> NDArray[np.bool_]:
        """For which values a comparison holds."""

    @abstractmethod
    def check_comparison(self, operator: str, value: Any) -> None:
        """A `UsageError` for a comparison that makes no sense."""

    # private discovery

    @abstractmethod
    def first_cut(self) -> Modelled:
        """The column, closed by the coarsest stand-in that discovery starts from."""

    @abstractmethod
    def typical(self, categories: int, bins: int) -> Modelled:
        """The column, closed by a stand-in of the size that discovery usually ends with."""
