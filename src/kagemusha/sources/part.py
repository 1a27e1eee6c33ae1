"""Some columns of a private table, as a table of their own: for a method that leaves the others to another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kagemusha.arrays import Codes, IntArray
from kagemusha.identity import Identity
from kagemusha.marginals import Marginal
from kagemusha.schema import Clique, Domain, Schema
from kagemusha.sources.protocol import Source


class PartSource(Source):
    """The same rows of the same persons, with these modelled columns alone."""

    def __init__(self, whole: Source, names: Sequence[str]) -> None:
        self._whole, self._names = whole, set(names)
        unit = whole.schema.unit
        self._schema = Schema((c for c in whole.schema if c.name in self._names or c.name == unit.column), unit)

    @property
    def name(self) -> str | None:
        """That of the whole table."""
        return self._whole.name

    def identity(self) -> Identity | None:
        """That of the whole table."""
        return self._whole.identity()

    @property
    def schema(self) -> Schema:
        """What is declared about these columns."""
        return self._schema

    @property
    def domain(self) -> Domain:
        """These columns and their numbers of codes."""
        return self._whole.domain.project(name for name in self._whole.domain if name in self._names)

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Counted in the whole table."""
        return self._whole.count(cliques)

    def rows(self) -> int:
        """Number of rows."""
        return self._whole.rows()

    def batches(self) -> Iterator[list[Codes]]:
        """All rows, these columns."""
        return map(self._mine, self._whole.batches())

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, these columns, and whose they are."""
        columns, persons = self._whole.records()
        return self._mine(columns), persons

    def _mine(self, columns: list[Codes]) -> list[Codes]:
        return [columns[self._whole.domain.axis(name)] for name in self.domain]

    def native_like(self) -> Any:
        """As the whole table."""
        return self._whole.native_like()
