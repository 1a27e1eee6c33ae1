"""An axis of numbers in SQL: in engines, which make the codes themselves, and in DuckDB, whose places numpy turns into codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns.bins import own_codes, to_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.pushed import Pushed, case, empty_text
from kagemusha.columns.stored import TIMES, Stored

if TYPE_CHECKING:
    from kagemusha.columns.dialect import Dialect
    from kagemusha.columns.duck import DuckDialect
    from kagemusha.columns.parse import TextReader

from kagemusha.columns.axis import Axis, Said


@dataclass(frozen=True)
class PushedAxis(Axis):
    """What a kind decides is what values say and where that lies; codes follow from that."""

    def of_moment(self, microseconds: str, dialect: Dialect) -> str:
        """SQL: what a moment says."""
        return dialect.days(microseconds)

    def text_says(self, text: str, dialect: Dialect) -> tuple[str, str] | None:
        """SQL: whether the engine is sure what a text says, and what it says; None if engines read no texts of this column."""
        return dialect.is_number(text), dialect.double(text)

    # codes in SQL

    def of_number(self, number: str, dialect: Dialect) -> str:
        """The bin that holds it."""
        number = self.place_of(number, dialect)
        whole = self.read_whole
        low, high = (int(e) if whole else float(e) for e in (self.low, self.high))
        if own_codes(self):
            edges = (dialect.constant(low), dialect.constant(high))
            inside = number if whole else dialect.whole(f"floor({number})")
            code = (
                f"CASE WHEN {number} <= {edges[0]} THEN 0 WHEN {number} >= {edges[1]} THEN {self.ordinary - 1} "
                f"ELSE {inside} - ({int(self.low)}) END"
            )
        else:
            code = dialect.bins(number, [int(s) if whole else float(s) for s in self.starts[1:].tolist()])
        if self.out_of_domain != "missing":
            return code
        outside = f"{number} < {dialect.constant(low)} OR {number} > {dialect.constant(high)}"
        return f"CASE WHEN {outside} THEN {self.size - 1} ELSE {code} END"

    def pushed_text(self, text: str, missing: str, dialect: Dialect) -> Pushed:
        """What the engine reads of a text."""
        empty = f"({missing} OR {empty_text(text, dialect)})"
        read = self.text_says(text, dialect)
        if read is None:
            return Pushed(f"CASE WHEN {empty} THEN {self.empty_code} ELSE 0 END", empty)
        sure, said = read
        return Pushed(case(empty, self, said, sure, dialect), f"({empty} OR {sure})")

    def native_in_duck(self, stored: Stored, plain: str, duck: DuckDialect) -> str:
        """What it says, if it is not too far away."""
        if stored not in TIMES:
            return duck.numbered(plain, stored)
        return f"CASE WHEN {duck.within(plain, stored)} THEN {self.of_moment(plain, duck)} END"

    def text_in_duck(self, text: str, duck: DuckDialect, types: dict[str, list[str]]) -> tuple[str, bool]:
        """What DuckDB reads of it: NULL where it is not sure."""
        read = self.text_says(text, duck)
        return "NULL" if read is None else read[1], False

    def _from_duck(self, values: Any) -> Said:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        places = values.fill_null(0).to_numpy(zero_copy_only=False)
        return places, missing | np.isnan(places)

    def codes_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Codes:
        """Codes of the places that DuckDB gave."""
        codes = to_codes(self, *self._from_duck(values))
        if texts is not None:
            codes[texts.is_valid().to_numpy(zero_copy_only=False)] = self.encode_arrow(texts.drop_null(), reader)
        return codes

    def cells_in_duck(self, values: Any, texts: Any, reader: TextReader) -> Cells:
        """The places that DuckDB gave."""
        places, missing = self._from_duck(values)
        cells = self._cells(places.copy(), missing)
        if texts is not None:
            cells.put(texts.is_valid().to_numpy(zero_copy_only=False), self.read(texts.drop_null(), reader))
        return cells
