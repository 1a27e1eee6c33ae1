"""The table a game is played over, and the two worlds that differ in the target. All of it codes; INTERNAL.

A release and its doubles may have coarser bins than the table the adversary knows: `Coarse` leads from the codes of one
schema to those of the other and back, without a detour over values.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.errors import DataError, UsageError
from kagemusha.schema import Measured, Schema
from kagemusha.sources.codes import KEPT_CELLS, CodesSource, Neighbour
from kagemusha.sources.protocol import Source


@dataclass(frozen=True, eq=False)
class GameTable:
    """Rows as codes, one column per modelled column of the schema."""

    schema: Schema
    codes: Codes

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.schema.domain):
            raise UsageError(f"codes of shape {self.codes.shape} do not fit {len(self.schema.domain)} columns")
        if len(self.codes) < 2:
            raise DataError("a game needs a table of at least two rows")

    @classmethod
    def of(cls, source: Source) -> GameTable:
        """The rows of a source, read without a charge: whatever is made of them is INTERNAL."""
        columns, _ = source.records()
        return cls(source.schema, np.column_stack(columns).astype(np.int32))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def source(self) -> CodesSource:
        """The table as what synthesizers read; its counts are remembered for all worlds."""
        return CodesSource(self.schema, self.codes.T, remember=KEPT_CELLS)

    @cached_property
    def digest(self) -> str:
        """What tells this table from another; private."""
        rows = np.ascontiguousarray(self.codes, dtype="<i4")
        return hashlib.sha256(self.schema.digest().encode() + rows.tobytes()).hexdigest()

    def __getstate__(self) -> dict[str, object]:
        # counts that are remembered stay in their process; the digest spares every worker the hashing
        return {"schema": self.schema, "codes": self.codes, "digest": self.digest}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False)
class World:
    """A table with some rows taken away and some added."""

    table: GameTable
    minus: tuple[int, ...] = ()
    plus: tuple[tuple[int, ...], ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows - len(self.minus) + len(self.plus)

    @property
    def key(self) -> WorldKey:
        """What tells worlds over one table apart."""
        return self.minus, self.plus

    @cached_property
    def codes(self) -> Codes:
        """All rows."""
        kept = np.delete(self.table.codes, np.array(self.minus, dtype=np.int64), axis=0)
        if not self.plus:
            return kept
        return np.concatenate([kept, np.array(self.plus, dtype=kept.dtype)])

    @cached_property
    def source(self) -> Source:
        """What a synthesizer reads."""
        if not self.minus and not self.plus:
            return self.table.source
        width = len(self.table.schema.domain)
        added = np.array(self.plus, dtype=np.int64).reshape(-1, width)
        return Neighbour(self.table.source, np.array(self.minus, dtype=np.int64), added)

    def over(self, table: GameTable, coarse: Coarse | None = None) -> World:
        """The same rows of a table with the same rows in other codes."""
        plus = self.plus
        if coarse is not None and plus:
            plus = tuple(tuple(int(v) for v in row) for row in coarse.down(np.array(plus)))
        return World(table, self.minus, plus)


WorldKey = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


class SameTable:
    """A table as a key: what is worked out once in a process is found again for the same table."""

    def __init__(self, table: GameTable) -> None:
        self.table = table

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameTable) and other.table.digest == self.table.digest

    def __hash__(self) -> int:
        return hash(self.table.digest)


def _coarser(fine: Measured | None, coarse: Measured | None) -> IntArray | None:
    """For each code of an axis the code of one with wider bins; None if they are not the same axis."""
    if fine is None or coarse is None or (fine.missing, fine.special) != (coarse.missing, coarse.special):
        return None
    lookup = np.searchsorted(coarse.starts[1:], fine.starts, side="right")
    return np.append(lookup, np.arange(coarse.n_values, coarse.size)).astype(np.int64)


class Coarse:
    """From the codes of a fine schema to those of one with wider bins, and back by a draw within the bin."""

    def __init__(self, fine: Schema, coarse: Schema) -> None:
        if fine.domain.names != coarse.domain.names:
            raise UsageError("the two schemas must have the same modelled columns in the same order")
        self.schema = coarse
        self._down: list[IntArray] = []
        self._first: list[IntArray] = []
        for a, b in zip(fine.modelled, coarse.modelled, strict=True):
            if a.size == b.size:
                lookup: IntArray | None = np.arange(a.size)
            else:
                lookup = _coarser(a.axis, b.axis)
            if lookup is None:
                raise UsageError(f"column {a.name!r}: its codes cannot be made coarser")
            if len(np.unique(lookup)) != b.size:
                raise UsageError(f"column {a.name!r}: a bin of the coarse schema holds no code of the fine one")
            self._down.append(lookup.astype(np.int64))
            self._first.append(np.searchsorted(lookup, np.arange(b.size + 1)).astype(np.int64))

    def down(self, codes: Codes) -> IntArray:
        """Coarse codes of fine ones."""
        return np.column_stack([lookup[codes[:, i]] for i, lookup in enumerate(self._down)])

    def up(self, codes: Codes, rng: np.random.Generator) -> IntArray:
        """Fine codes of coarse ones: each a uniform draw from its bin, as values of a release are."""
        found = np.empty(codes.shape, dtype=np.int64)
        for i, first in enumerate(self._first):
            begin, end = first[codes[:, i]], first[codes[:, i] + 1]
            found[:, i] = begin if len(first) - 1 == len(self._down[i]) else rng.integers(begin, end)
        return found


@dataclass(frozen=True, eq=False)
class PlayedDoubles:
    """A synthetic table as the adversary sees it.

    Codes, or the raw numbers of a generator that never made codes of them.
    """

    codes: Codes | None = None
    values: FloatArray | None = None
    expansion: str = "codes"
    """Which features `values` are, see `features.Space`."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        held = self.codes if self.codes is not None else self.values
        return 0 if held is None else len(held)


def read_table(table: object, schema: Schema) -> GameTable:
    """A file or frame as a table to play over."""
    from kagemusha.sources import open_source

    return GameTable.of(open_source(table, schema))
