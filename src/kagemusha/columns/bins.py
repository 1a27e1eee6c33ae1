"""Bins: how they are declared, and numbers into them and back, exactly.

What is drawn from a bin falls into the same bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray

if TYPE_CHECKING:
    from kagemusha.columns.axis import Axis

MAX_BINS = 100_000
"""More bins than any marginal could use."""

EXACT = 2**53 - 1
"""Whole numbers up to here are exact in the float64 that raw numbers are compared in."""


def ends(column: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """The declared bounds and edges of a column, each field as a tuple of its values."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for field in ("lower", "upper", "edges"):
        given = column.given(field)
        if given is None:
            continue
        if field == "edges":
            if isinstance(given, str) or not isinstance(given, Sequence):
                column.fail(field, given, "a list of rising values")
            given = tuple(given)
            object.__setattr__(column, field, given)
        found.append((field, given if field == "edges" else (given,)))
    return found


def listed_values(column: Any, whole: bool) -> None:
    """Check `values`, the only numbers a column has; they stand in place of bounds, bins and edges."""
    given = column.values
    if given is None:
        return
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 1:
        column.fail("values", given, "a list of rising numbers")
    kind = int if whole else int | float
    if any(isinstance(v, bool) or not isinstance(v, kind) or not abs(v) <= EXACT for v in given):
        column.fail("values", list(given), "a list of whole numbers" if whole else "a list of finite numbers")
    if any(a >= b for a, b in pairwise(given)) or len(given) > MAX_BINS:
        column.fail("values", list(given), f"a list of at most {MAX_BINS} rising numbers")
    for field in ("bins", "edges", "scale"):
        if column.given(field) is not None:
            column.fail(field, column.given(field), "left out where values are given")
    for field, end in (("lower", given[0]), ("upper", given[-1])):
        if column.given(field) not in (None, end):
            column.fail(field, column.given(field), f"left out where values are given, or {end}")
        object.__setattr__(column, field, end)
    object.__setattr__(column, "values", tuple(given))


def check_scale(column: Any, *, least: float) -> None:
    """Check `scale`: bins of equal width, or on a logarithmic scale for numbers with a long tail."""
    if column.scale not in (None, "log"):
        column.fail("scale", column.scale, "left out or 'log'")
    if column.scale == "log":
        if column.edges is not None or column.bins is None:
            column.fail("scale", "log", "beside bins")
        if column.lower is not None and not column.lower >= least:
            allowed = "greater than 0" if least > 0 else "at least 0"
            column.fail("lower", column.lower, f"{allowed} for a logarithmic scale; what lies below can be special")


def lattice_starts(low: int, high: int, bins: int | None, edges: Sequence[int] | None) -> NDArray[np.int64]:
    """Left ends of bins on a lattice of whole numbers; more bins than numbers give one bin per number."""
    if edges is not None:
        return np.array(edges[:-1], dtype=np.int64)
    width = high - low + 1
    if bins is None or bins >= width:
        return np.arange(low, high + 1, dtype=np.int64)
    return np.array([low + width * i // bins for i in range(bins)], dtype=np.int64)


def code_type(size: int) -> np.dtype[Any]:
    """The smallest integer type for codes below `size`."""
    return np.dtype(np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.int32)


def no_codes(sizes: Iterable[int]) -> list[Codes]:
    """No records, in columns of these numbers of codes."""
    return [np.empty(0, dtype=code_type(size)) for size in sizes]


LISTED = 1 << 16
"""Whole numbers between the bounds of a column up to which their codes are listed."""


def own_codes(column: Axis) -> bool:
    """Whether every whole number of the domain is its own code."""
    return column.whole and column.points is None and column.n_values == int(column.high) - int(column.low) + 1


def to_codes(column: Axis, numbers: NDArray[Any], missing: NDArray[np.bool_]) -> Codes:
    """Codes of numbers on the column's axis; `missing` marks those that are no number."""
    kind = code_type(column.size)
    outside = (numbers < column.low) | (numbers > column.high) if column.out_of_domain == "missing" else None
    own = own_codes(column)
    if own or (column.whole and column.high - column.low < LISTED):
        clipped = np.clip(numbers, column.low, column.high)
        if missing.any():
            clipped[missing] = column.low
        codes: Codes = (np.floor(clipped) - column.low).astype(kind if own else np.int64)
        if not own:
            # a list of the codes of all whole numbers is faster than a search among the bins
            listed = np.arange(int(column.low), int(column.high) + 1)
            codes = np.searchsorted(column.starts[1:], listed, side="right").astype(kind)[codes]
    else:
        codes = np.searchsorted(column.starts[1:], numbers, side="right").astype(kind)
    if outside is not None:
        codes[outside] = column.missing_code
    codes[missing] = column.missing_or_outside_code
    for number, special in column.special_numbers.items():
        codes[(numbers == number) & ~missing] = column.n_values + special
    return codes


SPIKE = 3.0
"""A bin with more than this many times the density of both neighbours stands out: a value that people prefer."""

Span = tuple[NDArray[Any], NDArray[Any]]
"""For each row, the part [from, to) of its bin that values are drawn from."""


def spans(column: Axis, codes: IntArray) -> Span:
    """The whole bin of each code of a value.

    Its end is the first number past it, also where the upper bound belongs to it.
    """
    if column.points is not None:
        own = column.points[codes]
        return own, own + 1 if column.whole else np.nextafter(own, np.inf)
    last = np.nextafter(column.high, np.inf) if not column.whole else int(column.high) + 1
    return column.starts[codes], np.append(column.starts[1:], last)[codes]


def slopes(column: Axis, counts: FloatArray) -> FloatArray:
    """For each bin the slope s of a density 1 + s·(2u − 1) over it (u from 0 to 1) that leads on to its neighbours'.

    The density at an edge lies between those of the bins on both sides; every bin keeps its count. A bin that stands
    out from both neighbours says nothing about its inside, and neither does one that holds a single number.
    """
    flat = np.zeros(column.n_values)
    if column.points is not None or column.n_values < 3:
        return flat
    start, end = spans(column, np.arange(column.n_values))
    width = (end - start).astype(np.float64)
    density = np.maximum(counts[: column.n_values], 0.0) / width
    edge = (density[:-1] * width[1:] + density[1:] * width[:-1]) / (width[:-1] + width[1:])
    left = np.append(np.maximum(2 * density[0] - edge[0], 0.0), edge)
    right = np.append(edge, np.maximum(2 * density[-1] - edge[-1], 0.0))
    found = np.divide(right - left, 2 * density, out=flat, where=density > 0)
    below, above = np.append(density[0], density[:-1]), np.append(density[1:], density[-1])
    alone = (density > SPIKE * below) & (density > SPIKE * above)
    return np.where(alone, 0.0, np.clip(found, -1.0, 1.0))


def draw(
    column: Axis,
    codes: IntArray,
    *,
    rng: np.random.Generator,
    within: Span | None = None,
    shape: FloatArray | None = None,
) -> NDArray[Any]:
    """One number of each code's bin (or of the part `within` it), by the `slopes` of its `shape` or uniformly.

    Codes must be those of values.
    """
    start, end = within or spans(column, codes)
    places: FloatArray | None = None
    numbers: NDArray[Any]
    if shape is not None and column.points is None:
        whole = spans(column, codes)
        low, high = (up_to((edge - whole[0]) / (whole[1] - whole[0]), shape[codes]) for edge in (start, end))
        inside = _by_slope(low + rng.random(len(codes)) * (high - low), shape[codes])
        numbers = whole[0] + inside * (whole[1] - whole[0])
        places = np.clip((numbers - start) / (end - start), 0.0, 1.0)
    numbers = column.inside(start, end, places, rng)
    if not column.whole:
        return numbers
    for special in column.special_numbers:  # what stands for something else is no number to be drawn
        hit = numbers == special
        numbers[hit] += np.where(numbers + 1 < end, 1, np.where(numbers > start, -1, 0))[hit]
    return numbers


def up_to(place: FloatArray, slope: FloatArray) -> FloatArray:
    """The share of a bin's values below a place in it, from 0 to 1."""
    return np.asarray((1 - slope) * place + slope * place**2)


def _by_slope(uniform: FloatArray, slope: FloatArray) -> FloatArray:
    """Places from 0 to 1 with the density 1 + s·(2u − 1), by its distribution function (1 − s)·u + s·u²."""
    tilted = np.abs(slope) > 1e-6
    s = np.where(tilted, slope, 1.0)
    root = (np.sqrt((1 - s) ** 2 + 4 * s * uniform) - (1 - s)) / (2 * s)
    return np.clip(np.where(tilted, root, uniform), 0.0, 1.0)
