"""A table that comes as codes already: images, and what games and experiments fit again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.bins import code_type
from kagemusha.errors import DataError, UsageError
from kagemusha.marginals import Marginal
from kagemusha.marginals.tally import KeptTables, Tally
from kagemusha.schema import Clique, Schema
from kagemusha.sources.protocol import Source, joined

KEPT_CELLS = 1 << 23
"""Cells of counts that a game keeps (64 MiB in every worker): the next fit of the same table asks for the same ones."""


class CodesSource(Source):
    """Codes in memory, column by column; every row is a person of its own.

    Of counts, as many cells as `remember` says are kept for the next fit of the same table.
    """

    def __init__(self, schema: Schema, columns: Iterable[Codes], *, name: str | None = None, remember: int = 0) -> None:
        self._schema, self._name = schema, name
        given = list(columns)
        if len(given) != len(schema.domain):
            raise UsageError(f"there are {len(given)} columns of codes, but the schema models {len(schema.domain)}")
        self._columns: list[Codes] = []
        for column, size in zip(given, schema.domain.sizes, strict=True):
            if len(column) and not (int(column.min()) >= 0 and int(column.max()) < size):
                raise DataError("a code lies outside its column's domain")
            self._columns.append(np.ascontiguousarray(column, dtype=code_type(size)))
        self._kept = KeptTables[IntArray](remember)

    @property
    def name(self) -> str | None:
        """What the table is known by; None in memory."""
        return self._name

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        return self._schema

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique."""
        wanted = [tuple(clique) for clique in cliques]
        found = self._kept.of(wanted, self._tallied)
        return [Marginal(clique, found[clique]) for clique in wanted]

    def _tallied(self, cliques: Sequence[Clique]) -> dict[Clique, IntArray]:
        tally = Tally(self.domain, cliques)
        tally.add(self._columns)
        return {m.clique: m.counts for m in tally.marginals()}

    def rows(self) -> int:
        """Number of rows."""
        return len(self._columns[0])

    def batches(self) -> Iterator[list[Codes]]:
        """All rows at once."""
        yield self._columns

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, each a person of its own."""
        return self._columns, np.arange(self.rows())


class Neighbour(Source):
    """A remembered table with some rows taken away and some added: its counts are the table's, corrected."""

    def __init__(self, base: CodesSource, minus: IntArray, plus: Codes) -> None:
        self._base = base
        self._minus = np.asarray(minus, dtype=np.int64)
        self._plus = np.asarray(plus, dtype=np.int64).reshape(-1, len(base.domain))
        columns, _ = base.records()
        self._gone = np.column_stack([c[self._minus] for c in columns]).astype(np.int64)

    @property
    def schema(self) -> Schema:
        """What is declared about the table."""
        return self._base.schema

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        """Exact counts over each clique."""
        found = []
        for marginal in self._base.count(cliques):
            counts = marginal.counts.copy()
            axes = [self.domain.axis(name) for name in marginal.clique]
            for rows, sign in ((self._plus, 1), (self._gone, -1)):
                if axes:
                    np.add.at(counts, tuple(rows[:, axis] for axis in axes), sign)
                else:
                    counts += sign * len(rows)
            found.append(Marginal(marginal.clique, counts))
        return found

    def rows(self) -> int:
        """Number of rows."""
        return self._base.rows() - len(self._minus) + len(self._plus)

    def batches(self) -> Iterator[list[Codes]]:
        """Those of the table that stay, then those that are added."""
        columns, _ = self._base.records()
        yield [np.delete(column, self._minus) for column in columns]
        yield [self._plus[:, axis].astype(column.dtype) for axis, column in enumerate(columns)]

    def records(self) -> tuple[list[Codes], IntArray]:
        """All rows, each its own person."""
        return joined(self.domain, self.batches()), np.arange(self.rows())
