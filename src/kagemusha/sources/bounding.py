"""At most so many rows of each person, decided person by person.

The rule is public and looks at nobody else: of the rows that share a value of the unit's column, those stay whose MD5
digest of (person, codes of the row) comes first in the alphabet. Rows with equal codes are the same to every
query, so it does not matter which of them stays. The choice is as good as random, needs no state, and is the same in
every pass and in every container. Rows without a person belong to nobody and are left out. So are numbers of 2⁵³ and
more: a table that turned whole numbers into floats, because of one gap somewhere, would already have mixed such persons
up; such identifiers are texts. Whose a row is comes from the scan that its codes come from: a second scan may have
another order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.values import GAPS, UNREADABLE, Plain, label_text
from kagemusha.sources.spool import KEEP, Spool

LARGEST = 2.0**53

FLOATED = re.compile(r"(?:0|-?[1-9][0-9]*)\.0")
"""How a column of floats writes a whole number. Nothing else is taken for another text."""


def person_text(value: Plain) -> str | None:
    """The name of the person a plain value stands for; None if it stands for nobody.

    Texts are names letter by letter, but for the `.0` that a column of floats puts behind whole numbers: 1e3 is not
    1000, and 007 is not 7. Numbers and moments are named by what they say, in whatever type they come.
    """
    if isinstance(value, str):
        if value in GAPS or value == UNREADABLE:
            return None
        return value[:-2] if FLOATED.fullmatch(value) else value
    if value is None or (isinstance(value, float) and not abs(value) < LARGEST):
        return None
    text = label_text(value)
    return None if text == UNREADABLE else text


class Persons:
    """Numbers for persons, in the order they are met."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[Plain, int] = {}

    def number(self, values: Iterable[Plain]) -> IntArray:
        """The number of each value's person; −1 for nobody."""
        given = list(values)
        if (whole := _whole(given)) is not None:  # the usual case, in a fraction of the time
            texts = list(map(str, whole))
            found = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
            self.names += list(self._numbers)[len(self.names) :]
            return np.array(found, dtype=np.int64)
        return np.array([self._number(value) for value in given], dtype=np.int64)

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


def _whole(values: Sequence[Plain]) -> list[int] | None:
    """Values that are all whole numbers that floats hold exactly; None if they are not."""
    if not all(type(value) is float for value in values):
        return None
    numbers = np.array(values, dtype=np.float64)
    if not bool((np.abs(numbers) < LARGEST).all() and (numbers == np.floor(numbers)).all()):
        return None
    found: list[int] = numbers.astype(np.int64).tolist()
    return found


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


class Scanned:
    """The rows of one scan with the persons they belong to, of whom at most `most` rows each stay."""

    def __init__(self, sizes: Sequence[int], most: int, *, keep: int = KEEP, disk: bool = True) -> None:
        self._sizes, self._most = sizes, most
        self._keep, self._disk = keep, disk
        self._known = Persons()
        self._rows = Spool(sizes, keep=keep, disk=disk)
        self._whose: list[IntArray] = [np.empty(0, dtype=np.int64)]

    def add(self, columns: Sequence[Codes], whose: Iterable[Plain]) -> None:
        """The next rows, and the value that says whose each of them is."""
        self._whose.append(self._known.number(whose))
        self._rows.add(columns)

    def finish(self) -> tuple[Spool, IntArray]:
        """The rows that stay, and whose each of them is, by numbers without gaps."""
        whose, rows = np.concatenate(self._whose), self._rows.required()
        bound = Bound(whose, self._known.names, self._most)
        for columns in rows:
            bound.add(columns)
        bound.finish()
        kept = Spool(self._sizes, keep=self._keep, disk=self._disk)
        for columns in _cut(rows, bound.keep):
            kept.add(columns)
        return kept.required(), np.unique(whose[bound.keep], return_inverse=True)[1].astype(np.int64)


def _cut(rows: Iterable[Sequence[Codes]], keep: NDArray[np.bool_]) -> Iterator[list[Codes]]:
    at = 0
    for columns in rows:
        stay = keep[at : at + len(columns[0])]
        at += len(stay)
        yield [column[stay] for column in columns]


def bounded(persons: IntArray, names: Sequence[str], columns: Sequence[Codes], most: int) -> IntArray:
    """The rows that stay, in their order, of a table in memory."""
    bound = Bound(persons, names, most)
    bound.add(columns)
    bound.finish()
    return np.flatnonzero(bound.keep)
