"""Numbers: what whole ones and reals have in common."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kagemusha.columns.arrow import arrow_type
from kagemusha.columns.cells import Cells
from kagemusha.columns.measured import Measured
from kagemusha.columns.spelling import COMMA, NUMBERS
from kagemusha.errors import UsageError


@dataclass(frozen=True)
class Number(Measured):
    """A column of numbers: cut into bins, on a logarithmic `scale` if so said, or with its only `values` listed."""

    _: KW_ONLY
    scale: str | None = None
    values: tuple[Any, ...] | None = None

    spellings: ClassVar[tuple[str, ...]] = NUMBERS

    @cached_property
    def points(self) -> NDArray[Any] | None:
        """The only numbers the column has, if `values` lists them."""
        kind = np.int64 if self.whole else np.float64
        return None if self.values is None else np.array(self.values, dtype=kind)

    @property
    def grows(self) -> bool:
        return self.scale == "log"

    def compared(self, value: Any) -> float:
        """The number itself."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"where: {self.name} is a number but is compared with {value!r}")
        if not math.isfinite(number := float(value)):
            raise UsageError(f"where: {self.name} is compared with {value!r}; numbers must be finite")
        return number

    def arrow_of(self, cells: Cells) -> Any:
        """Numbers; with special values that are texts, all of them are texts."""
        import pyarrow as pa
        import pyarrow.compute as pc

        inside = cells.codes < 0
        plain = pa.array(np.where(inside, cells.numbers, 0), mask=~inside)
        plain = plain if self.dtype is None else plain.cast(self._shown_type())
        if self.spelling == COMMA and not self.whole:
            texts = pc.replace_substring(self._as_texts(plain), ".", ",")
            named = pa.array([*(str(value).replace(".", ",") for value in self.special), None], type=pa.string())
            return self._with_special(texts, named, inside, cells)
        if not self.special:
            return plain
        if all(isinstance(value, int | float) for value in self.special):
            kind = plain.type
            if pa.types.is_integer(kind) and not all(float(value).is_integer() for value in self.special):
                kind = pa.float64()
            plain, named = plain.cast(kind), pa.array([*map(float, self.special), None], type=pa.float64()).cast(kind)
        else:
            plain, named = self._as_texts(plain), pa.array([*map(str, self.special), None], type=pa.string())
        return self._with_special(plain, named, inside, cells)

    def _shown_type(self) -> Any:
        return arrow_type(self.dtype or "int64")

    def _with_special(self, plain: Any, named: Any, inside: NDArray[np.bool_], cells: Cells) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        chosen = named.take(pa.array(np.where(inside, len(self.special), cells.codes)))
        return pc.if_else(pa.array(inside), plain, chosen)

    def _as_texts(self, numbers: Any) -> Any:
        import pyarrow as pa

        return numbers.cast(pa.string())
