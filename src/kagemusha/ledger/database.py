"""What a ledger needs of the database that keeps it; each database says for itself how it is opened and locked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kagemusha.ledger import chain


class Database(Protocol):
    """A connection inside a transaction; `?` stands for a value."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """The cursor of a statement."""
        ...

    def executemany(self, sql: str, values: Sequence[Sequence[Any]], /) -> Any:
        """The same statement for several rows of values."""
        ...


class LedgerDatabase(ABC):
    """A database that keeps a ledger: opened, locked and asked."""

    path: str
    """Where it is, as it may be shown."""
    in_memory: bool = False

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Database]:
        """One writer at a time: the lock is taken before anything is read, so no decision is made on old numbers."""

    @abstractmethod
    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""

    @abstractmethod
    def _save_head(self) -> None:
        """Tell a witness how far the ledger has come, so that an older copy can be recognised."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @property
    @abstractmethod
    def head(self) -> chain.Head:
        """Where the chain of changes ends."""

    @abstractmethod
    def damage(self) -> str | None:
        """What the database's own check of its file finds, if anything."""

    def renew_head(self) -> None:
        """Give the ledger a new witness, after whoever asks for it has made sure that it is the newest."""
        self._save_head()

    @abstractmethod
    def broken_at(self) -> int | None:
        """The first entry of the chain that does not follow from the one before, if any."""
