"""Whose rows belong together: the declared unit of privacy.

With a column, the rows that share its value are one person's, and the source keeps at most `max_rows` of them; which ones
stay is decided person by person (`sources.bounding`). Without a column, each person is *known* to have at most
`max_rows` rows, and nothing is left out. A row without a value in the unit's column belongs to nobody and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
