"""How codes are written for a network when all that is known of a table are noisy counts of its columns.

Modes come from released counts, and a code is always written in the mode it most likely belongs to. In CTGAN the mode
of a value is drawn; from a public seed, row by row, such draws would hand one person's place in the table on to
everybody after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.modelled import Modelled
from kagemusha.generators.gan import WrittenColumn
from kagemusha.marginals import NoisyMarginal, nearest_counts
from kagemusha.neural.blocks import Block
from kagemusha.neural.inputs import Floats
from kagemusha.neural.modes import fit_modes
from kagemusha.schema import Schema
from kagemusha.synthesizers.encoded_rows import numbers_of, written_column

EVEN = 0.01
"""The part of every column's counts that is spread over all its codes: modes must reach where noise hid the people."""


@dataclass(frozen=True, eq=False)
class WrittenCodes:
    """For each column a mode, a block, and for each code its hot entry, its place and how often it occurs about."""

    modes: Sequence[WrittenColumn]
    blocks: Sequence[Block]
    hot: Sequence[IntArray]
    places: Sequence[Floats]
    shares: Sequence[FloatArray]

    @classmethod
    def of(cls, schema: Schema, counts: Sequence[NoisyMarginal], rows: float) -> WrittenCodes:
        """From noisy counts of every modelled column, in their order, and about how many rows there are."""
        modes, blocks, hots, places, shares = [], [], [], [], []
        at = 0
        for column, noisy in zip(schema.modelled, counts, strict=True):
            share = nearest_counts(noisy.values.astype(np.float64), rows) / rows
            share = (1 - EVEN) * share + EVEN / len(share)
            written, hot, place = _written(column, share)
            modes.append(written)
            blocks.append(Block(at, not written.labelled, written.hot, -1))
            hots.append(hot)
            places.append(place.astype(np.float32))
            shares.append(share / share.sum())
            at += written.width
        return cls(modes, blocks, hots, places, shares)

    def vectors(self, codes: IntArray) -> Floats:
        """Rows of codes as a network sees them; each row by its own codes alone."""
        found = np.zeros((len(codes), self.blocks[-1].end), dtype=np.float32)
        line = np.arange(len(codes))
        for axis, (block, hot, place) in enumerate(zip(self.blocks, self.hot, self.places, strict=True)):
            mine = codes[:, axis]
            if block.placed:
                found[:, block.start] = place[mine]
            found[line, block.first + hot[mine]] = 1
        return found

    def independent(self, count: int, rng: np.random.Generator) -> Floats:
        """Vectors of rows whose columns are drawn one by one from the noisy counts."""
        codes = np.column_stack([rng.choice(len(share), count, p=share) for share in self.shares])
        return self.vectors(codes.astype(np.int64))

    @property
    def means(self) -> FloatArray:
        """The mean vector of rows that occur as often as the noisy counts say."""
        found = np.zeros(self.blocks[-1].end)
        for block, hot, place, share in zip(self.blocks, self.hot, self.places, self.shares, strict=True):
            found[block.first : block.end] = np.bincount(hot, share, minlength=block.hot)
            if block.placed:
                found[block.start] = share @ place
        return found

    @property
    def start(self) -> FloatArray:
        """What a generator would say that knew the columns and no relation: log-shares of entries, the mean place."""
        found = self.means
        for block in self.blocks:
            found[block.first : block.end] = np.log(np.maximum(found[block.first : block.end], 1e-6))
            if block.placed:
                found[block.start] = np.arctanh(found[block.start])
        return found


def total_of(counts: Sequence[NoisyMarginal]) -> float:
    """About how many rows there are, from all columns: each sum counts by how little noise it has. At least one."""
    weights = np.array([1 / max(1, noisy.values.size) for noisy in counts])
    sums = np.array([float(noisy.values.sum()) for noisy in counts])
    return max(1.0, float(weights @ sums / weights.sum()))


def _written(column: Modelled, share: FloatArray) -> tuple[WrittenColumn, IntArray, FloatArray]:
    codes = np.arange(column.size)
    axis = column.axis
    if axis is None:
        empty = np.zeros(0)
        return WrittenColumn(column.name, column.size, empty, empty, empty), codes, np.zeros(column.size)
    numbers = numbers_of(axis)
    modes = fit_modes(numbers, share[: column.n_values])
    value_codes = np.minimum(codes, column.n_values - 1)
    hot: IntArray = modes.shares(numbers[value_codes]).argmax(axis=1).astype(np.int64)
    place = modes.places(numbers[value_codes], hot)
    missing = codes >= column.n_values
    hot[missing], place[missing] = len(modes) + (codes - column.n_values)[missing], 0.0
    return written_column(axis, modes, numbers), hot, place
