"""What a document says about one column, and the column that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kagemusha.columns.column import Column
from kagemusha.columns.registry import KINDS, column_from_fields
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
    """Why the column is left out, if it is."""

    def column(self, source: str) -> Column:
        """The declared column, with the document as its source."""
        try:
            return column_from_fields(self.name, {**self._fields(), "confirmed": source})
        except SchemaError:  # bounds that contradict each other, values that read alike: a person has to look
            kind = "category" if self.values else self.kind
            return column_from_fields(self.name, {"kind": kind, "missing": True, "confirmed": source})

    def _fields(self) -> dict[str, Any]:
        if self.why or looks_like_names(self.name):
            return {"kind": "drop", "reason": self.why or "names of persons"}
        if self.values:
            return {"kind": "category", "categories": [*dict.fromkeys(self.values)], "missing": self.missing}
        whole = isinstance(self.lower, int) and isinstance(self.upper, int)
        bins = None if whole and self.upper - self.lower < MOST_CODES else BINS
        said = {"lower": self.lower, "upper": self.upper, "bins": bins, "format": self.format}
        known = KINDS[self.kind].fields
        return {
            "kind": self.kind,
            **{name: value for name, value in said.items() if value is not None and name in known},
            "missing": self.missing,
        }


def number(text: object) -> float | None:
    """The number that a document gives as a bound; nothing if it is none."""
    if isinstance(text, bool) or text is None:
        return None
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def whole(text: object) -> int | None:
    """The same for columns of whole numbers."""
    value = number(text)
    return int(value) if value is not None and value.is_integer() else None


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
