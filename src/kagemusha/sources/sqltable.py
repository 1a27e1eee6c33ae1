"""A table inside an engine that speaks SQL, as `SqlSource` asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from kagemusha.columns.dialect import Dialect
from kagemusha.columns.stored import Stored
from kagemusha.errors import DataError
from kagemusha.identity import Identity

Row = Sequence[Any]

BATCH = 50_000
"""Rows that are brought over at a time."""


class SqlTable(ABC):
    """One state of one table: whatever is asked, all answers are about the same rows, or there is a `DataError`.

    Messages of drivers quote values and addresses. None of them leaves this room.
    """

    dialect: Dialect
    name: str | None
    """Where the table is, as messages may say it: without credentials."""
    names: tuple[str, ...]
    """Its columns."""
    stored: tuple[Stored, ...]
    """How each of them is stored."""
    scan: str
    """The FROM clause that reads it; there its columns are c0, c1, …"""

    @abstractmethod
    def rows(self, query: str) -> list[Row]:
        """All rows of an answer that is small."""

    @abstractmethod
    def batches(self, query: str) -> Iterator[list[Row]]:
        """The rows of an answer of any size, some at a time."""

    def prepared(self, query: str) -> str:
        """A FROM clause of a query that will be asked of again and again."""
        return f"({query}) AS prepared"

    @abstractmethod
    def fingerprint(self, columns: Sequence[int]) -> str | None:
        """A digest of some columns that does not depend on the order of rows; private."""

    def beside(self, table: str) -> SqlTable:
        """Another table of the same engine; of the same state of its database, where there is such a thing."""
        raise DataError(f"{self.name or 'this engine'}: holds one table, not {table!r}")

    @property
    def known_as(self) -> str | None:
        """What a ledger calls the table.

        None where nothing but the address is known, of which there are many for one table.
        """
        return self.name

    def identity(self, columns: Sequence[int]) -> Identity | None:
        """By what a ledger knows the table again; private."""
        state = self.fingerprint(columns)
        return None if state is None else Identity(state)

    @abstractmethod
    def close(self) -> None:
        """Let go of the table."""
