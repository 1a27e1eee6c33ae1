"""What a document says about one column, and the column that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kagemusha.columns.column import Column
from kagemusha.columns.registry import column_from_fields
from kagemusha.errors import SchemaError
from kagemusha.schema.lint import looks_like_names

MOST_CODES = 1_000
"""Whole numbers between two bounds that are codes of their own; more are cut into bins."""
BINS = 32


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One column as a document describes it. What the document does not say stays open."""

    name: str
    kind: str
    values: Sequence[Any] = ()
    """All values there are, if the document lists them."""
    lower: Any = None
    upper: Any = None
    missing: bool = True
    format: str | None = None
    why: str = ""
    """Why the column is left out, for kind drop."""

    def column(self, source: str) -> Column:
        """The declared column, with the document as its source."""
        try:
            return column_from_fields(self.name, {**self._fields(), "confirmed": source})
        except SchemaError:  # bounds that contradict each other, values that read alike: a person has to look
            return column_from_fields(self.name, {"kind": self._open_kind(), "missing": True, "confirmed": source})

    def _open_kind(self) -> str:
        return "category" if self.kind == "boolean" else self.kind

    def _fields(self) -> dict[str, Any]:
        if self.kind == "drop" or looks_like_names(self.name):
            return {"kind": "drop", "reason": self.why or "names of persons"}
        if self.values:
            return {"kind": "category", "categories": [*dict.fromkeys(self.values)], "missing": self.missing}
        if self.kind in ("category", "boolean"):
            return {"kind": self.kind, "missing": self.missing}
        ends = {k: v for k, v in (("lower", self.lower), ("upper", self.upper)) if v is not None}
        form = {} if self.format is None else {"format": self.format}
        return {"kind": self.kind, **ends, **self._bins(), **form, "missing": self.missing}

    def _bins(self) -> dict[str, int]:
        if self.lower is None or self.upper is None or self.kind in ("date", "datetime", "time", "duration"):
            return {"bins": BINS}
        few = self.kind == "integer" and self.upper - self.lower < MOST_CODES
        return {} if few else {"bins": BINS}


def number(text: object) -> Any:
    """The number that a document gives as a bound; nothing if it is none."""
    if isinstance(text, bool) or text is None:
        return None
    try:
        value = float(str(text))
    except ValueError:
        return None
    if value != value or abs(value) == float("inf"):
        return None
    return int(value) if value.is_integer() else value


def whole(text: object) -> int | None:
    """The same for columns of whole numbers."""
    value = number(text)
    return value if isinstance(value, int) else None


def day(text: object) -> Any:
    """A bound of dates, as the schema takes it."""
    shown = str(text or "").strip()
    return shown[:19].replace("T", " ") if shown[:4].isdigit() and len(shown) >= len("2000-01-01") else None


def named_once(statements: Iterable[Statement]) -> list[Statement]:
    """The statements, one for each name; the first one counts."""
    found: dict[str, Statement] = {}
    for statement in statements:
        found.setdefault(statement.name, statement)
    return list(found.values())
