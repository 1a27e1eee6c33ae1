"""Bounds, edges and listed values of measured columns, as they may be declared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BINS = 100_000
"""More bins than any marginal could use."""

EXACT = 2**53 - 1
"""Whole numbers up to here are exact in the float64 that raw numbers are compared in."""


def ends(column: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """The declared bounds and edges of a column, each field as a tuple of its values."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for field in ("lower", "upper", "edges"):
        given = getattr(column, field)
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
        if getattr(column, field) is not None:
            column.fail(field, getattr(column, field), "left out where values are given")
    for field, end in (("lower", given[0]), ("upper", given[-1])):
        if getattr(column, field) not in (None, end):
            column.fail(field, getattr(column, field), f"left out where values are given, or {end}")
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
    """Left ends of bins on a lattice of whole numbers; more bins than numbers give one bin a number."""
    if edges is not None:
        return np.array(edges[:-1], dtype=np.int64)
    width = high - low + 1
    if bins is None or bins >= width:
        return np.arange(low, high + 1, dtype=np.int64)
    return np.array([low + width * i // bins for i in range(bins)], dtype=np.int64)
