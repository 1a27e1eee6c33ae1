"""What a private table answers: counts over cliques; whole records only to training and to what is INTERNAL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.bins import no_codes
from kagemusha.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import Tally
from kagemusha.schema import Clique, Domain, Schema


class Source(ABC):
    """A private table behind its schema. Every answer is exact and private; only the Curator may ask.

    Batches may be cut anywhere and rows may come in another order at every pass, so nothing may depend on either. Whose
    a row is must come from the very scan that its codes come from.
    """

    stays_put: ClassVar[bool] = False
    """Whether an engine counts the table where it lives; certificates then say what left it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<private>, {len(self.domain)} columns)"

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What is declared about the table."""

    @property
    def domain(self) -> Domain:
        """The modelled columns and their numbers of codes."""
        return self.schema.domain

    @property
    def name(self) -> str | None:
        """What the table is known by everywhere, such as the path of its file; None for a table in memory."""
        return None

    def identity(self) -> Identity | None:
        """Digests by which a ledger knows the table again, where they are cheap to make; private."""
        return None

    @abstractmethod
    def batches(self) -> Iterator[list[Codes]]:
        """All rows that stay, as codes, some at a time: column by column, in any order."""

    @abstractmethod
    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows as codes, column by column, and for each row the number of its person, from 0 without gaps."""

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique, all in one pass; the clique () counts the rows, as a 0-d array."""
        tally = Tally(self.domain, cliques)
        for columns in self.batches():
            tally.add(columns)
        return tally.marginals()

    def rows(self) -> int:
        """Number of rows; private under add-remove adjacency."""
        return int(self.count([()])[0].counts)

    def native_like(self) -> Any:
        """The library whose frames the output should be: "pandas", "polars" or "pyarrow"."""
        return "pyarrow"


def joined(domain: Domain, batches: Iterator[list[Codes]]) -> list[Codes]:
    """All batches as one, column by column."""
    parts = zip(no_codes(domain.sizes), *batches, strict=True)
    return [np.concatenate(pieces) for pieces in parts]
