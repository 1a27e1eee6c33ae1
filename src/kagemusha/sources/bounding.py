"""At most so many rows of each person, decided person by person.

The rule is public and looks at nobody else: of the rows that share a value of the unit's column, those stay whose MD5
digest of (person, codes of the row) comes first in the alphabet. Rows with equal codes are the same to every
query, so it does not matter which of them stays. The choice is as good as random, needs no state, and is the same in every
pass and in every engine. Rows without a person belong to nobody and are left out. So are whole numbers of 2⁵³ and more in a
column of numbers, in every container alike: a table that turned them into floats, because of one gap somewhere, would
already have mixed persons up; such identifiers are texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.sql import Stored, as_text
from kagemusha.encoding.values import UNREADABLE, label_text

LARGEST = 2**53


def person_text(value: Any) -> str | None:
    """The name of the person a raw value stands for; None if it stands for nobody."""
    text = label_text(value)
    if text is None or text in ("", UNREADABLE) or (not isinstance(value, str | bytes) and _too_large(value)):
        return None
    return text


def _too_large(value: Any) -> bool:
    try:
        return not abs(value) < LARGEST
    except TypeError:
        return False


def person_sql(name: str, stored: Stored) -> str:
    """DuckDB expression: the twin of `person_text`, NULL for nobody."""
    text = as_text(name, stored)
    if stored in ("integer", "float"):
        return f"CASE WHEN abs({name}) < {LARGEST} THEN {text} END"
    return f"nullif({text}, '')"


def persons_of(values: Sequence[Any]) -> tuple[IntArray, list[str]]:
    """For each raw value the number of its person (−1 for nobody), and the persons' names."""
    numbers: dict[str, int] = {}
    kept: dict[Any, int] = {}
    found = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        key = (type(value), value)
        try:
            found[i] = kept[key]
            continue
        except (KeyError, TypeError):
            text = person_text(value)
        number = -1 if text is None else numbers.setdefault(text, len(numbers))
        found[i] = number
        if isinstance(value, str | int):
            kept[key] = number
    return found, list(numbers)


def bounded(persons: IntArray, names: Sequence[str], columns: Sequence[Codes], most: int) -> IntArray:
    """The rows that stay, in their order."""
    counts = np.bincount(persons[persons >= 0], minlength=len(names))
    crowded = np.flatnonzero((persons >= 0) & (counts[persons] > most))
    keep = persons >= 0
    keep[crowded] = False
    by_person: dict[int, list[tuple[str, int]]] = {}
    codes = [column[crowded].tolist() for column in columns]
    for row, person, *record in zip(crowded.tolist(), persons[crowded].tolist(), *codes, strict=True):
        by_person.setdefault(person, []).append((digest(names[person], record), row))
    for rows in by_person.values():
        keep[[row for _, row in sorted(rows)[:most]]] = True
    return np.flatnonzero(keep)


def digest(person: str, record: Sequence[int]) -> str:
    """The order of a person's rows."""
    text = f"{person}|{','.join(map(str, record))}"
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def bounded_sql(select: str, codes: Sequence[str], most: int) -> str:
    """The rows of a query that stay; it must yield the codes, and the person as `person`."""
    text = f"concat(person, '|', concat_ws(',', {', '.join(codes)}))"
    return (
        f"SELECT * FROM ({select}) WHERE person IS NOT NULL "
        f"QUALIFY row_number() OVER (PARTITION BY person ORDER BY md5({text})) <= {most}"
    )
