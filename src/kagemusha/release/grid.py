"""Bounds and bin edges of measured columns, found on public grids that no record can move.

A first grid covers everything a column of its kind could hold: powers of two, or years. Cells whose noisy count
stands out of the noise say where the values lie. A second, finer grid between those bounds gives the quantiles.
Values beyond the bounds, however extreme, are clipped into the end bins like any value outside a declared domain.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.errors import UsageError
from kagemusha.schema import Measured

BINS = 32
"""Bins of a column that does not say how many."""

_CELLS = 64
_WHOLE = 256
_SPLITS = 2
_CLOSEST = 2.0**-16

Edges = tuple[Any, ...]


def second_grid(column: Measured, edges: Edges, counts: FloatArray, sigma: float) -> Edges:
    """Finer edges between the outermost cells, or runs of cells, whose noisy count stands out.

    The end cells of the first grid hold whatever lies beyond it and do not count, unless the bound is declared. Where
    nothing stands out at all there are no bounds to be had: a `UsageError`, rather than bounds made of noise.
    """
    first = 0 if column.lower is not None or len(counts) < 3 else 1
    last = len(counts) - (0 if column.upper is not None or len(counts) < 3 else 1)
    start, end = (0, last - first) if last - first == 1 else _standing(counts[first:last], sigma)
    if end == start and (column.lower is None or column.upper is None):
        raise UsageError(
            f"column {column.name!r}: no value stands out of the noise, so its bounds cannot be found with this share "
            "of the budget; declare them, or ask for a larger share (--discover)"
        )
    low = 0 if column.lower is not None else first + start
    high = len(counts) if column.upper is not None else first + end
    coarse = _axis(column.cut(edges))[low : high + 1]
    parts = [np.linspace(a, b, _SPLITS + 1) for a, b in pairwise(coarse)]
    width = float(coarse[-1] - coarse[0])
    # few whole numbers: a cell each, so that one that very many records hold becomes a bin of its own
    cells = _CELLS if not column.whole or width > _WHOLE else round(width)
    fine = np.concatenate([*parts, np.linspace(coarse[0], coarse[-1], cells + 1)])
    if column.whole:
        fine = np.rint(fine)
    rising = np.unique(fine)
    # powers of two crowd around zero; edges much closer than a bin could be are one
    apart = np.append(True, np.diff(rising) > _CLOSEST * width)
    return column.declared(rising[apart].tolist())


def _standing(counts: FloatArray, sigma: float) -> tuple[int, int]:
    """From where to where the narrowest runs of 1, 2, 4, … cells reach whose sums stand out; (0, 0) if none does.

    Values spread over many cells stand out together long before any one cell does. What lies next to them on either
    side belongs to them as far as its sum still rises out of the noise.
    """
    found: list[tuple[int, int]] = []
    width = 1
    while width < 2 * len(counts):
        starts = np.arange(0, len(counts), width)
        sums = np.add.reduceat(counts, starts)
        level = math.sqrt(width) * _stands_out(2 * len(counts), sigma)
        for start in starts[sums > level].tolist():
            if not any(start <= inner < start + width for inner, _ in found):
                found.append((start, min(start + width, len(counts))))
        width *= 2
    if not found:
        return 0, 0
    start, end = min(f[0] for f in found), max(f[1] for f in found)
    return start - _fringe(counts[:start][::-1], sigma), end + _fringe(counts[end:], sigma)


def _fringe(outside: FloatArray, sigma: float) -> int:
    """How many cells, counted outwards, still belong to what stands out."""
    rise = np.cumsum(outside) - 4.0 * sigma * np.sqrt(np.arange(1, len(outside) + 1))
    return int(np.argmax(rise)) + 1 if len(rise) and rise.max() > 0 else 0


def close_column(column: Measured, edges: Edges, counts: FloatArray, sigma: float) -> Measured:
    """The column with bounds and about equally filled bins, from noisy counts on the second grid."""
    low, high = 0, len(counts)
    reached = _stands_out(len(counts), sigma)
    depth = 2 * sigma * np.sqrt(np.arange(1, len(counts) + 1))
    if column.lower is None:
        low = _first(counts, reached, depth)
    if column.upper is None:
        high = len(counts) - _first(counts[::-1], reached, depth)
    if high <= low:
        low, high = 0, len(counts)
    bins = column.bins or BINS
    axis = _axis(column.cut(edges))
    if column.few_whole and axis[high] - axis[low] <= bins:
        # the last cell of the whole grid is closed, every other one ends before its right edge
        end = int(axis[high]) - (high < len(counts))
        lower = column.lower if column.lower is not None else int(axis[low])
        return replace(
            column, lower=lower, upper=column.upper if column.upper is not None else end, bins=None, edges=None
        )
    cuts = _quantile_cuts(counts[low:high], bins)
    return column.cut([edges[low + cut] for cut in cuts])


def _first(counts: FloatArray, reached: float, depth: FloatArray) -> int:
    """The first cell from which on there is something: it stands out, or all up to it do together."""
    found = np.flatnonzero((counts > reached) | (np.cumsum(counts) > depth))
    return int(found[0]) if len(found) else 0


def _stands_out(cells: int, sigma: float) -> float:
    """More than the largest of so many noise draws is likely to be."""
    return sigma * (math.sqrt(2 * math.log(max(2, cells))) + 1)


def _quantile_cuts(counts: FloatArray, bins: int) -> list[int]:
    """Positions of edges that cut noisy counts into at most `bins` about equal parts, both ends included."""
    running = np.maximum(_rising(np.cumsum(counts)), 0.0)
    if running[-1] <= 0:
        running = np.arange(1.0, len(counts) + 1)
    targets = running[-1] * np.arange(1, bins) / bins
    inner = 1 + np.searchsorted(running, targets)
    # a cell that holds several quantiles is a bin of its own: cut before it, too
    crowded = inner[:-1][np.diff(inner) == 0] - 1
    cuts = np.unique(np.concatenate([[0], inner, crowded, [len(counts)]]))
    return [int(cut) for cut in cuts if 0 <= cut <= len(counts)]


def _rising(values: FloatArray) -> FloatArray:
    """The nearest non-decreasing sequence (isotonic regression)."""
    from scipy.optimize import isotonic_regression

    fitted: FloatArray = isotonic_regression(values).x.copy()
    return fitted


def _axis(column: Measured) -> NDArray[Any]:
    """The edges of a column as numbers on its axis."""
    return np.append(column.starts, column.high)
