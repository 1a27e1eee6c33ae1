"""At most so many rows of each person, decided person by person.

The rule is public and looks at nobody else: of the rows that share a value of the unit's column, those stay whose MD5
digest of (person, codes of the row) comes first in the alphabet. Rows with equal codes are the same to every
query, so it does not matter which of them stays. The choice is as good as random, needs no state, and is the same in every
pass and in every container. Rows without a person belong to nobody and are left out. So are numbers of 2⁵³ and more: a table
that turned whole numbers into floats, because of one gap somewhere, would already have mixed such persons up; such
identifiers are texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.encoding.values import GAPS, UNREADABLE, Plain, label_text

LARGEST = 2.0**53


def person_text(value: Plain) -> str | None:
    """The name of the person a plain value stands for, the same for every form of it; None if it stands for nobody."""
    if value is None or (isinstance(value, float) and not abs(value) < LARGEST):
        return None
    text = label_text(value)
    if isinstance(value, str) and value not in GAPS and _is_large(text):
        return value  # digits that a number would not hold
    return None if not text or text == UNREADABLE else text


def _is_large(text: str | None) -> bool:
    try:
        return text is not None and not abs(float(text)) < LARGEST
    except ValueError:
        return False


class Persons:
    """Numbers for persons, in the order they are met."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[Plain, int] = {}

    def number(self, values: Iterable[Plain]) -> IntArray:
        """The number of each value's person; −1 for nobody."""
        return np.array([self._number(value) for value in values], dtype=np.int64)

    def _number(self, value: Plain) -> int:
        found = self._known.get(value)
        if found is not None and value is not None:
            return found
        text = person_text(value)
        if text is None:
            return -1
        number = self._numbers.setdefault(text, len(self.names))
        if number == len(self.names):
            self.names.append(text)
        self._known[value] = number
        return number


def digest(person: str, record: Sequence[object]) -> str:
    """The order of a person's rows."""
    text = f"{person}|{','.join(map(str, record))}"
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


class Bound:
    """Which rows stay, worked out chunk by chunk: who belongs to whom must be known before the first chunk comes."""

    def __init__(self, persons: IntArray, names: Sequence[str], most: int) -> None:
        self.keep = persons >= 0
        self._persons, self._names, self._most = persons, names, most
        # the last one is nobody's: persons who are none have the number −1
        counts = np.append(np.bincount(persons[self.keep], minlength=len(names)), 0)
        self._crowded = self.keep & (counts[persons] > most)
        self.keep[self._crowded] = False
        self._best: dict[int, list[tuple[str, int]]] = {}
        self._at = 0

    def add(self, columns: Sequence[Codes]) -> None:
        """The codes of the next rows."""
        begin, self._at = self._at, self._at + len(columns[0])
        rows = np.flatnonzero(self._crowded[begin : self._at])
        for row, *record in zip(rows.tolist(), *(column[rows].tolist() for column in columns), strict=True):
            person = int(self._persons[begin + row])
            best = self._best.setdefault(person, [])
            best.append((digest(self._names[person], record), begin + row))
            if len(best) > 4 * self._most:
                best[:] = sorted(best)[: self._most]

    def finish(self) -> None:
        """Decide."""
        for rows in self._best.values():
            self.keep[[row for _, row in sorted(rows)[: self._most]]] = True
        self._best.clear()


def bounded(persons: IntArray, names: Sequence[str], columns: Sequence[Codes], most: int) -> IntArray:
    """The rows that stay, in their order, of a table in memory."""
    bound = Bound(persons, names, most)
    bound.add(columns)
    bound.finish()
    return np.flatnonzero(bound.keep)
