"""A table of codes as networks see it: modes and places for numbers, one hot entry for labels. Batches by wish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.measured import Measured
from kagemusha.errors import ModelTooLarge
from kagemusha.generators.gan import WrittenColumn
from kagemusha.neural.blocks import Block
from kagemusha.neural.modes import SPREAD, Modes, fit_modes
from kagemusha.schema import Schema

MOST_LABELS = 20_000
"""Codes of all labelled columns together: one-hot vectors of more are refused, not tried."""


def require_labels(schema: Schema) -> None:
    """Refuse more labels than a network of this kind can hold, before anything is read."""
    sizes = {column.name: column.size for column in schema.modelled if column.axis is None}
    if sum(sizes.values()) > MOST_LABELS:
        widest = max(sizes, key=lambda name: sizes[name])
        raise ModelTooLarge(
            f"the labelled columns have {sum(sizes.values()):,} codes together; a network takes {MOST_LABELS:,}. "
            f"The widest is {widest!r} with {sizes[widest]:,}"
        )


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """The table as modes, places and codes: compact, batches are written out one at a time."""

    modes: Sequence[WrittenColumn]
    blocks: Sequence[Block]
    places: Sequence[FloatArray]
    """For each measured column the place of every row in its mode."""
    chosen: Sequence[IntArray]
    """For each column the entry that is hot in every row."""
    orders: Sequence[IntArray]
    """For each labelled column the rows sorted by code."""
    counts: Sequence[IntArray]

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[Codes], rng: np.random.Generator) -> EncodedRows:
        """Modes of all columns, and one mode for every measured value, drawn by how likely each is."""
        modes, blocks, places, chosen, orders, counts = [], [], [], [], [], []
        at = wish = 0
        for column, codes in zip(schema.modelled, columns, strict=True):
            count = np.bincount(codes, minlength=column.size)
            if (axis := column.axis) is not None:
                written, place, hot = _measured(axis, codes, count, rng)
                places.append(place)
            else:
                written = WrittenColumn(column.name, column.size, np.zeros(0), np.zeros(0), np.zeros(0))
                hot = codes.astype(np.int64)
                orders.append(np.argsort(codes, kind="stable"))
                counts.append(count)
            blocks.append(Block(at, not written.labelled, written.hot, wish if written.labelled else -1))
            modes.append(written)
            chosen.append(hot)
            at += written.width
            wish += written.hot if written.labelled else 0
        return cls(modes, blocks, places, chosen, orders, counts)

    @property
    def frequencies(self) -> FloatArray:
        """How often each wish is made when rows are drawn: a column at random, its codes as often as they occur."""
        if not self.counts:
            return np.zeros(0)
        shares = np.concatenate([count / max(1, count.sum()) for count in self.counts])
        return np.asarray(shares / shares.sum()) if shares.sum() else np.full(len(shares), 1 / len(shares))

    def conditions(self, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """A labelled column at random, one of its codes by log-frequency."""
        labelled = np.flatnonzero([block.wish >= 0 for block in self.blocks])
        block, code = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        if not len(labelled):
            return block, code
        picked = rng.integers(len(labelled), size=count)
        draws = rng.random(count)
        for i, tally in enumerate(self.counts):
            mine = picked == i
            rising = np.cumsum(np.log1p(tally))
            code[mine] = np.searchsorted(rising, draws[mine] * rising[-1], side="right") if rising[-1] else 0
        np.minimum(code, [self.blocks[b].hot - 1 for b in labelled[picked]], out=code)
        return labelled[picked], code

    def batch(self, block: IntArray, code: IntArray, rng: np.random.Generator) -> NDArray[np.float32]:
        """Rows with these codes, or any rows where there are no labelled columns."""
        total = len(self.chosen[0])
        rows = rng.integers(max(1, total), size=len(code))
        if self.counts:
            labelled = np.flatnonzero([b.wish >= 0 for b in self.blocks])
            for i, at in enumerate(labelled):
                mine = np.flatnonzero(block == at)
                tally = self.counts[i]
                begin = np.cumsum(tally) - tally
                wanted = code[mine]
                has = tally[wanted] > 0
                inside = (rng.random(len(mine)) * tally[wanted]).astype(np.int64)
                rows[mine[has]] = self.orders[i][begin[wanted[has]] + inside[has]]
        return self.encoded(rows)

    def encoded(self, rows: IntArray) -> NDArray[np.float32]:
        """Some rows, written out as vectors."""
        found = np.zeros((len(rows), self.blocks[-1].end), dtype=np.float32)
        if not len(self.chosen[0]):
            return found  # an empty table has no rows to show
        line, measured = np.arange(len(rows)), 0
        for block, hot in zip(self.blocks, self.chosen, strict=True):
            if block.placed:
                found[:, block.start] = self.places[measured][rows]
                measured += 1
            found[line, block.first + hot[rows]] = 1
        return found


def _measured(
    column: Measured, codes: Codes, count: IntArray, rng: np.random.Generator
) -> tuple[WrittenColumn, FloatArray, IntArray]:
    numbers = numbers_of(column)
    modes = fit_modes(numbers, count[: column.n_values].astype(np.float64))
    value_codes = np.minimum(codes, column.n_values - 1).astype(np.int64)
    hot = _draw_modes(modes, numbers, value_codes, rng)
    place = modes.places(numbers[value_codes], hot)
    missing = codes >= column.n_values
    hot[missing], place[missing] = len(modes) + (codes.astype(np.int64) - column.n_values)[missing], 0.0
    return written_column(column, modes, numbers), place.astype(np.float32), hot


def written_column(column: Measured, modes: Modes, numbers: FloatArray) -> WrittenColumn:
    """How a measured column is written with these modes."""
    return WrittenColumn(
        column.name, column.size, modes.means, SPREAD * modes.deviations, numbers, column.size - column.n_values
    )


def numbers_of(column: Measured) -> FloatArray:
    """The middle of the bin of each code of a value, on a scale from −1 to 1."""
    ends = np.append(column.starts[1:] - column.whole, column.high).astype(np.float64)
    middle = (column.starts.astype(np.float64) + ends) / 2
    width = float(column.high) - float(column.low) or 1.0
    return np.asarray(2 * (middle - float(column.low)) / width - 1)


def _draw_modes(modes: Modes, numbers: FloatArray, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """A mode for every row, by how likely each is for its value; worked out once for each code that occurs."""
    seen, back = np.unique(codes, return_inverse=True)
    rising = np.cumsum(modes.shares(numbers[seen]), axis=1)
    draws = rng.random(len(codes))
    found: IntArray = np.minimum((draws[:, None] > rising[back]).sum(axis=1), len(modes) - 1)
    return found
