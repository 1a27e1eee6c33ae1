"""The values of one column as rules and formulas see them: numbers on the column's axis, or one of its named codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Cells:
    """A column's values.

    The codes of labels are theirs; those of measured columns are −1 for a number, else which special value it is, or
    the number of special values for a missing one.
    """

    codes: IntArray
    numbers: NDArray[Any]
    """Places on the column's axis; of no meaning where there is no number."""

    def __getitem__(self, rows: Any) -> Cells:
        return Cells(self.codes[rows], self.numbers[rows])

    def put(self, rows: Any, others: Cells) -> None:
        """Exchange some rows, in place."""
        self.codes[rows] = others.codes
        self.numbers[rows] = others.numbers

    @classmethod
    def of_codes(cls, codes: Any) -> Cells:
        """The values of labels: their codes say all."""
        return cls(codes.astype(np.int64), np.zeros(len(codes)))

    @classmethod
    def joined(cls, parts: list[Cells]) -> Cells:
        """Some values after others."""
        if not parts:
            return cls(np.zeros(0, dtype=np.int64), np.zeros(0))
        return cls(np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts]))
