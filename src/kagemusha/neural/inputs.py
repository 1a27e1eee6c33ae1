"""Codes as the numbers a network takes and gives: features of the columns, with one-hot blocks of their own loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray
from kagemusha.schema.features import STEPS, Features

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The features of some columns, side by side."""

    features: Sequence[Features]
    axes: Sequence[int]
    """Where the columns lie among the codes."""

    @cached_property
    def _tables(self) -> list[Floats]:
        return [(f.table / STEPS).astype(np.float32) for f in self.features]

    @cached_property
    def width(self) -> int:
        """Numbers a row."""
        return sum(f.table.shape[1] for f in self.features)

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Begin and end of every one-hot block."""
        ends = np.cumsum([f.table.shape[1] for f in self.features])
        return [
            (int(end) - f.table.shape[1], int(end)) for f, end in zip(self.features, ends, strict=True) if f.labelled
        ]

    @cached_property
    def measured(self) -> IntArray:
        """Where the numbers lie that are no part of a one-hot block."""
        free = np.ones(self.width, dtype=bool)
        for begin, end in self.blocks:
            free[begin:end] = False
        return np.flatnonzero(free)

    def of(self, codes: IntArray) -> Floats:
        """The features of rows of codes."""
        found = np.empty((len(codes), self.width), dtype=np.float32)
        at = 0
        for axis, table in zip(self.axes, self._tables, strict=True):
            found[:, at : at + table.shape[1]] = table[codes[:, axis]]
            at += table.shape[1]
        return found
