"""A table that comes in another order, cut into other batches, at every pass.

As views, clusters and servers may give theirs. Nothing may come out differently for it. Contracts and audits read
through it, so that whatever trusts an order or a cut is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.schema import Schema
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.open_table import OpenFrame, OpenTable, ValueCounts
from kagemusha.sources.protocol import Source

PIECES = 7
"""Batches of a pass, at most."""


class Shuffled(Source):
    """The rows of another source, shuffled and cut anew at every pass."""

    def __init__(self, source: Source, seed: int | list[int] = 0, pieces: int = PIECES) -> None:
        self._source, self._pieces = source, pieces
        self._rng = np.random.default_rng(seed)

    @property
    def schema(self) -> Schema:
        """That of the source."""
        return self._source.schema

    def batches(self) -> Iterator[list[Codes]]:
        """Shuffled rows in pieces of chance sizes; some may be empty."""
        columns, _ = self.records()
        rows = len(columns[0])
        cuts = np.sort(self._rng.integers(0, rows + 1, self._pieces - 1))
        for begin, end in zip([0, *cuts], [*cuts, rows], strict=True):
            yield [column[begin:end] for column in columns]

    def records(self) -> tuple[list[Codes], IntArray]:
        """Shuffled rows; each person keeps their number."""
        columns, persons = self._source.records()
        order = self._rng.permutation(len(persons))
        return [column[order] for column in columns], persons[order]


class ShuffledOpen(OpenTable):
    """An arrow table whose domain is still open, shuffled anew at every look."""

    def __init__(self, table: Any, schema: Schema, seed: list[int]) -> None:
        self.schema = schema
        self._table, self._seed = table, seed
        self._rng = np.random.default_rng(seed)

    def _mixed(self) -> Any:
        return self._table.take(self._rng.permutation(self._table.num_rows))

    def count_values(self, name: str) -> ValueCounts:
        """Every label with its count."""
        return OpenFrame(self._mixed(), self.schema).count_values(name)

    def with_schema(self, schema: Schema) -> Source:
        """The same rows behind a closed schema."""
        return Shuffled(FrameSource(self._mixed(), schema), self._seed)
