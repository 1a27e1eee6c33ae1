"""Writing table programs: strided additions, sums and log-sum-exps over one flat buffer.

Every table is a run of the buffer with named axes. An instruction walks the larger table once, cell by cell in
memory order, and addresses the smaller one by strides; neighbouring axes that behave alike are merged, so most
instructions are two or three nested loops with a long inner run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import IntArray
from kagemusha.schema.domain import Clique, Domain

SET, ADD, MULTIPLY, SUM, LOG_SUM_EXP, CLEAR = range(6)


@dataclass(frozen=True)
class ProgramTable:
    """A table inside the buffer: where it starts and which axes it has, outermost first."""

    start: int
    axes: Clique
    cells: int

    @property
    def stop(self) -> int:
        """One past the last cell."""
        return self.start + self.cells

    def view(self, buffer: NDArray[Any], domain: Domain) -> NDArray[Any]:
        """The table as an array with its axes in domain order (no copy)."""
        cells = buffer[self.start : self.stop].reshape(domain.shape(self.axes))
        order = sorted(range(len(self.axes)), key=lambda i: domain.axis(self.axes[i]))
        return cells.transpose(order)


class ProgramWriter:
    """Allots tables in a buffer and collects the instructions that work on them."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._code: list[int] = []
        self._free = 0
        self.length = 0
        """Cells of the buffer."""

    def table(self, axes: Sequence[str]) -> ProgramTable:
        """A new table over `axes`, in that memory order."""
        cells = self.domain.cells(axes)
        table = ProgramTable(self._free, tuple(axes), cells)
        self._free += cells
        self.length = max(self.length, self._free)
        return table

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Tables made in here are used by no instruction after it: later ones may take their place."""
        before = self._free
        yield
        self._free = before

    def combine(self, op: int, big: ProgramTable, small: ProgramTable) -> None:
        """Set, add to or multiply every cell of `big` by the cell of `small` it projects to."""
        self._walk(op, big, small)

    def sum(self, big: ProgramTable, small: ProgramTable) -> None:
        """Overwrite `small` with the sums of `big` over the axes `small` lacks."""
        self._code += (CLEAR, small.start, small.cells)
        self._walk(SUM, big, small)

    def clear(self, table: ProgramTable) -> None:
        """Fill with zeros."""
        self._code += (CLEAR, table.start, table.cells)

    def log_sum_exp(
        self, table: ProgramTable, message: ProgramTable, inverse: ProgramTable, *, separator_last: bool
    ) -> None:
        """Exponentiate `table`, shifted for each state of the message's axes; write the log sums and their inverses.

        `table` times `inverse` is then the conditional given those axes (zero where nothing is possible).
        """
        separator = message.cells
        rest = table.cells // separator
        rows, columns = (rest, separator) if separator_last else (separator, rest)
        self._code += (LOG_SUM_EXP, table.start, message.start, inverse.start, rows, columns, int(separator_last))

    def finish(self) -> IntArray:
        """The program so far."""
        return np.array(self._code, dtype=np.int64)

    def _walk(self, op: int, big: ProgramTable, small: ProgramTable) -> None:
        stride_of: dict[str, int] = {}
        stride = 1
        for name in reversed(small.axes):
            stride_of[name] = stride
            stride *= self.domain.size(name)
        loops: list[tuple[int, int]] = []
        for name in big.axes:
            size, step = self.domain.size(name), stride_of.get(name, 0)
            if size == 1:
                continue
            if loops and loops[-1][1] == size * step:
                loops[-1] = (loops[-1][0] * size, step)
            else:
                loops.append((size, step))
        if loops and loops[-1][1] > 1:
            raise ValueError(f"tables over {big.axes} and {small.axes} list their axes in different orders")
        while len(loops) < 2:  # the kernel always runs the two innermost loops itself
            loops.insert(0, (1, 0))
        self._code += (op, big.start, small.start, len(loops))
        self._code += (size for size, _ in loops)
        self._code += (step for _, step in loops)


def fold_plan(
    domain: Domain, axes: Clique, parts: Sequence[Clique]
) -> tuple[list[int], list[tuple[Clique, list[int]]]]:
    """Split `parts` (subsets of `axes`) into those met on the full table and those met on smaller tables.

    Returns the direct parts and (smaller axes, parts) groups, as positions in `parts`. A table that lacks one
    axis is worth building as soon as two parts lack that axis: it is then walked in their stead.
    """
    left = list(range(len(parts)))
    groups: list[tuple[Clique, list[int]]] = []
    while True:
        best: tuple[int, Clique, list[int]] | None = None
        for name in axes:
            size = domain.size(name)
            lacking = [i for i in left if name not in parts[i]]
            if size == 1 or len(lacking) < 2:
                continue
            smaller = tuple(a for a in axes if a != name)
            # Drop at once every axis that none of them has.
            smaller = tuple(a for a in smaller if any(a in parts[i] for i in lacking))
            gain = (len(lacking) - 1) * prod(domain.shape(axes)) - len(lacking) * domain.cells(smaller)
            if gain > 0 and (best is None or gain > best[0]):
                best = (gain, smaller, lacking)
        if best is None:
            return left, groups
        groups.append((best[1], best[2]))
        left = [i for i in left if i not in best[2]]
