"""What a private table answers: counts over cliques; whole records only to training and to what is INTERNAL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from kagemusha.arrays import Codes, IntArray
from kagemusha.ledger.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.schema import Clique, Domain, Schema


@runtime_checkable
class Source(Protocol):
    """A private table behind its schema. Every answer is exact and private; only the Curator may ask."""

    @property
    def name(self) -> str | None:
        """What the table is known by everywhere, such as the path of its file; None for a table in memory."""
        ...

    def identity(self) -> Identity | None:
        """Digests by which a ledger knows the table again, where they are cheap to make; private."""
        ...

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        ...

    @property
    def domain(self) -> Domain:
        """The modelled columns and their numbers of codes."""
        ...

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique, all in one pass; the clique () counts the rows, as a 0-d array."""
        ...

    def rows(self) -> int:
        """Number of rows; private under add-remove adjacency."""
        ...

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows as codes, column by column, and for each row the number of its person, from 0 without gaps."""
        ...

    def native_like(self) -> Any:
        """The library whose frames the output should be: "pandas", "polars" or "pyarrow"."""
        ...
