"""Whom records stand for: the declared unit of privacy, and survey weights.

With a column, the rows that share its value are one person's, and the source keeps at most `max_rows` of them; which
ones stay is decided person by person (`sources.bounding`). Without a column, each person is *known* to have at most
`max_rows` rows, and nothing is left out. A row without a value in the unit's column belongs to nobody and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns import Column, Measured
from kagemusha.columns.registry import did_you_mean
from kagemusha.errors import SchemaError

MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Unit:
    """`[unit]` of a schema file."""

    column: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if self.column is not None and (not isinstance(self.column, str) or not self.column):
            raise SchemaError(f"unit: column = {self.column!r} is not allowed; it must be the name of a column")
        rows = self.max_rows
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
            raise SchemaError(
                f"unit: max_rows = {rows!r} is not allowed; it must be a whole number from 1 to {MOST_ROWS:,}"
            )

    @classmethod
    def from_fields(cls, table: Any) -> Unit:
        """The unit a table of fields describes; a wrong one is a `SchemaError`."""
        if not isinstance(table, Mapping):
            raise SchemaError('unit: a table is needed, such as [unit] with column = "patient_id" and max_rows = 3')
        for field in table:
            if field not in ("column", "max_rows"):
                raise SchemaError(f"unit: there is no field {field!r}; it must be one of column, max_rows")
        return cls(**table)

    def to_fields(self) -> dict[str, Any]:
        """The fields that describe it; none for a promise about single rows."""
        return {
            **({} if self.column is None else {"column": self.column}),
            **({"max_rows": self.max_rows} if self else {}),
        }

    def __bool__(self) -> bool:
        return self.column is not None or self.max_rows > 1


EACH_ROW = Unit()
"""Every row stands for a person of its own."""


FIELDS = ("column", "missing")

MOST_STEPS = 2**20
"""Whole steps that the largest weight has at most."""

LARGEST, SMALLEST = 1e12, 1e-12
"""Upper bounds of weights outside of this are a mistake."""


@dataclass(frozen=True)
class Weight:
    """`[weight]` of a schema file: the column that holds the weights, and what a record without one counts for."""

    column: str
    missing: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise SchemaError(f"weight: column = {self.column!r} is not allowed; it must be the name of a column")
        given = self.missing
        if given is not None and (
            isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= LARGEST
        ):
            raise SchemaError(f"weight: missing = {given!r} is not allowed; it must be a number of at least 0")

    @classmethod
    def from_fields(cls, table: Any) -> Weight | None:
        """The weight that a table of fields describes, None for no table; a wrong one is a `SchemaError`."""
        if table is None:
            return None
        if not isinstance(table, Mapping) or "column" not in table:
            raise SchemaError('weight: a table is needed, such as [weight] with column = "survey_weight"')
        for field in table:
            if field not in FIELDS:
                raise SchemaError(f"weight: there is no field {field!r}; it must be one of {', '.join(FIELDS)}")
        return cls(**table)

    def to_fields(self) -> dict[str, Any]:
        """The fields that describe it."""
        return {"column": self.column, **({} if self.missing is None else {"missing": self.missing})}

    def check(self, columns: Mapping[str, Column], modelled: Collection[str]) -> None:
        """A `SchemaError` if the column cannot bound what one record does to a weighted count."""
        column = columns.get(self.column)
        if column is None:
            raise SchemaError(
                f"weight: the schema has no column {self.column!r}{did_you_mean(self.column, tuple(columns))}"
            )
        axis = column.axis
        if axis is None or axis.sort != "number" or self.column not in modelled:
            raise SchemaError(f"weight: column {self.column!r} must be an integer or real that is modelled itself")
        column = axis
        if column.formula is not None:
            raise SchemaError(f"weight: column {self.column!r} has a formula; a weight must be a column of the table")
        if column.special:
            raise SchemaError(
                f"weight: column {self.column!r} has special values, which weigh nothing that is declared"
            )
        for field in column.open_fields:
            raise SchemaError(
                f"weight: {field} of column {self.column!r} must be declared: the largest weight bounds what one "
                "record can move, and nobody may look for it in the data"
            )
        if column.low < 0:
            raise SchemaError(f"weight: lower = {column.low:g} of column {self.column!r} must be at least 0")
        if not SMALLEST <= column.high <= LARGEST:
            raise SchemaError(f"weight: upper = {column.high:g} of column {self.column!r} must lie in 1e-12 to 1e12")
        if column.missing and self.missing is None:
            raise SchemaError(
                f"weight: values of column {self.column!r} may be missing; say what a record without a weight counts "
                "for, such as missing = 0 or missing = 1"
            )
        if not column.missing and self.missing is not None:
            raise SchemaError(
                f"weight: missing = {self.missing:g}, but no value of column {self.column!r} may be missing"
            )
        if self.missing is not None and self.missing > column.high:
            raise SchemaError(f"weight: missing = {self.missing:g} is above the largest weight, {column.high:g}")


@dataclass(frozen=True, eq=False)
class WeightSteps:
    """The weight of each code, in whole steps of `worth`; no code has more than `most` of them."""

    worth: float
    steps: IntArray

    @property
    def most(self) -> int:
        """The largest weight, in steps."""
        return max(1, int(self.steps.max()))

    @property
    def values(self) -> FloatArray:
        """The weight of each code."""
        return np.asarray(self.steps * self.worth)


def weight_steps(column: Measured, weight: Weight) -> WeightSteps:
    """Each bin has the weight in its middle; single values have their own.

    Exact where weights are whole and below 2¹⁹.
    """
    every = np.append(column.middles, [weight.missing] if column.missing else [])
    worth = 2.0 ** (math.ceil(math.log2(column.high)) - int(math.log2(MOST_STEPS)))
    # the upper bound is in the last bin, so no middle is above it; rounding to steps keeps it at most that bound's own
    return WeightSteps(worth, np.rint(every / worth).astype(np.int64))
