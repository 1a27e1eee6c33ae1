"""How a table stores a column: all that its container says of the values."""

from __future__ import annotations

from typing import Literal

Stored = Literal[
    "text", "binary", "integer", "float", "decimal", "boolean",
    "date", "timestamp", "milliseconds", "nanoseconds", "zoned", "interval", "other", "nested",
]  # fmt: skip
"""Milliseconds are whole numbers since 1970; a time of day is stored as text."""

TEXTS: frozenset[Stored] = frozenset({"text", "binary", "other"})
NUMBERS: frozenset[Stored] = frozenset({"integer", "float", "decimal", "boolean"})
MOMENTS: frozenset[Stored] = frozenset({"date", "timestamp", "milliseconds", "nanoseconds", "zoned"})
TIMES: frozenset[Stored] = MOMENTS | {"interval"}
