"""One verb for real, synthetic and model: `project(clique)` gives the counts over some columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.bins import code_type
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.marginals.information import shares
from kagemusha.marginals.tally import KeptTables, Tally
from kagemusha.schema import Clique, Domain, Modelled, Schema

BATCH_CELLS = 2**23
"""Cells counted together (64 MB)."""

KEPT_CELLS = 2**24
"""Cells of one- and two-way tables a table remembers (128 MB), so that every metric after the first finds them."""


@runtime_checkable
class Projectable(Protocol):
    """Anything that can be compared: a table of codes, a model, a mixture of both."""

    @property
    def domain(self) -> Domain:
        """The columns and their numbers of codes."""
        ...

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Counts over each clique, one axis per name; each sums to the number of records."""
        ...


class CodedTable:
    """A table as compact codes with its schema; the form in which tables are evaluated."""

    def __init__(self, schema: Schema, columns: Sequence[Codes]) -> None:
        self.schema = schema
        self.columns = tuple(columns)
        if len(self.columns) != len(schema.domain):
            raise UsageError(f"{len(self.columns)} columns of codes, but the schema models {len(schema.domain)}")
        if not self.rows:
            raise DataError("the table has no rows: there is nothing to evaluate")
        self._kept = KeptTables[FloatArray](KEPT_CELLS, widest=2)

    def __repr__(self) -> str:
        return f"CodedTable({self.rows:,} rows, {len(self.columns)} columns)"

    @classmethod
    def of_codes(cls, schema: Schema, codes: NDArray[Any]) -> CodedTable:
        """From an array of codes, one row per record."""
        types = [code_type(size) for size in schema.domain.sizes]
        return cls(schema, [np.ascontiguousarray(codes[:, i], dtype=t) for i, t in enumerate(types)])

    @property
    def domain(self) -> Domain:
        """The modelled columns."""
        return self.schema.domain

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.columns[0])

    @cached_property
    def modelled(self) -> Mapping[str, Modelled]:
        """The declared columns by name."""
        return {column.name: column for column in self.schema.modelled}

    @cached_property
    def digest(self) -> str:
        """What tells this table from another; private."""
        found = hashlib.sha256(self.schema.digest().encode())
        for column in self.columns:
            found.update(np.ascontiguousarray(column, dtype="<i4").tobytes())
        return found.hexdigest()

    def column(self, name: str) -> Codes:
        """The codes of one column."""
        return self.columns[self.domain.axis(require_column(self.domain, name))]

    def take(self, rows: NDArray[Any]) -> CodedTable:
        """Some of the rows."""
        return CodedTable(self.schema, [column[rows] for column in self.columns])

    def sampled(self, most: int | None, rng: np.random.Generator) -> CodedTable:
        """At most `most` rows, taken at random without repeats."""
        if most is None or self.rows <= most:
            return self
        return self.take(np.sort(rng.choice(self.rows, most, replace=False)))

    def project(self, clique: Clique) -> FloatArray:
        """Counts over a clique."""
        return self.project_many([clique])[0]

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Counts over each clique, in one pass."""
        wanted = [self.domain.canonical(require_columns(self.domain, clique)) for clique in cliques]
        found = self._kept.of(wanted, self._count)
        return [
            found[clique] if tuple(asked) == clique else found[clique].transpose([clique.index(n) for n in asked])
            for asked, clique in zip(cliques, wanted, strict=True)
        ]

    def _count(self, cliques: Sequence[Clique]) -> dict[Clique, FloatArray]:
        tally = Tally(self.domain, cliques)
        tally.add(self.columns)
        return {m.clique: m.counts.astype(np.float64) for m in tally.marginals()}

    def keys(self, clique: Clique) -> IntArray:
        """One whole number for each row's combination of codes."""
        if self.domain.cells(clique) >= 2**62:
            raise UsageError(f"the columns {', '.join(clique)} have too many combinations to be numbered")
        return self.domain.flat(require_columns(self.domain, clique), self.columns)


def same_columns(first: Projectable, second: Projectable) -> None:
    """Refuse to compare what has different columns or codes."""
    if first.domain == second.domain:
        return
    differ = set(first.domain.names) ^ set(second.domain.names)
    if differ:
        raise SchemaError(
            f"the two sides have different columns: {', '.join(sorted(differ)[:5])} is in only one of them"
        )
    wrong = [n for n in first.domain if first.domain.size(n) != second.domain.size(n)]
    what = f"column {wrong[0]!r} has different codes" if wrong else "the columns are in another order"
    raise SchemaError(f"the two sides do not follow the same schema: {what}")


def require_column(domain: Domain, name: str) -> str:
    """The name, if there is such a column."""
    if name not in domain:
        raise UsageError(f"no column named {name!r}; columns are {', '.join(domain.names)}")
    return name


def require_columns(domain: Domain, clique: Sequence[str]) -> Sequence[str]:
    """The names, if all are columns."""
    for name in clique:
        require_column(domain, name)
    return clique


def in_batches(domain: Domain, cliques: Sequence[Clique], *, most: int = BATCH_CELLS) -> Iterator[list[Clique]]:
    """The cliques in their order, in groups that fit into memory together."""
    batch: list[Clique] = []
    cells = 0
    for clique in cliques:
        size = domain.cells(clique)
        if batch and cells + size > most:
            yield batch
            batch, cells = [], 0
        batch.append(clique)
        cells += size
    if batch:
        yield batch


def compared(
    first: Projectable, second: Projectable, cliques: Sequence[Clique]
) -> Iterator[tuple[Clique, FloatArray, FloatArray]]:
    """Every clique with the shares of both sides."""
    same_columns(first, second)
    for batch in in_batches(first.domain, cliques):
        for clique, p, q in zip(batch, first.project_many(batch), second.project_many(batch), strict=True):
            yield clique, shares(p), shares(q)
