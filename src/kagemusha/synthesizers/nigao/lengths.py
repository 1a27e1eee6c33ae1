"""How long records are, from noisy counts on a public grid: clipping norms, and what clipping takes away."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.queries.record_sums import NormCounts
from kagemusha.queries.record_vectors import Vectors
from kagemusha.release.curator import Curator

GRID = 64
"""Cells of a look at lengths."""

MOST_CUT = 3.0
"""The most that clipping is taken to have cut from squared lengths."""


@dataclass(frozen=True, eq=False)
class Lengths:
    """A clipping norm for each class (or one for all), and how many times longer squared lengths are than after it."""

    radius: FloatArray
    cut: FloatArray


def look_at_lengths(
    curator: Curator, vectors: Vectors, quantile: float, cost: float, *, together: bool = False
) -> Lengths:
    """The length that this share of each class (or of all records) does not pass."""
    asked = replace(vectors, cells=()) if together and (vectors.centre is None or len(vectors.centre) < 2) else vectors
    longest = 2 * math.sqrt(vectors.raw_width) if vectors.basis is None else 8 * math.sqrt(vectors.width)
    edges = longest * np.linspace(0, 1, GRID + 1)[1:-1] ** 1.5
    counted = curator.answer([NormCounts(asked, "lengths of records", edges)], cost)[0]
    found = counted.values.reshape(-1, GRID)
    if together:
        found = found.sum(axis=0, keepdims=True)
    noise = counted.sigma * math.sqrt(asked.classes if together else 1)
    return _read(np.where(found > 2 * noise, found, 0.0), edges, quantile)


def _read(clear: FloatArray, edges: FloatArray, quantile: float) -> Lengths:
    middle = np.append((np.append(0.0, edges[:-1]) + edges) / 2, edges[-1]) ** 2
    radius, cut = np.empty(len(clear)), np.ones(len(clear))
    for c, counts in enumerate(clear):
        reached = np.cumsum(counts)
        at = int(np.searchsorted(reached, quantile * reached[-1])) if reached[-1] > 0 else GRID // 2
        radius[c] = edges[min(at, len(edges) - 1)]
        # beyond the norm, lengths go on until the first cell that is not clear: farther ones are made of noise
        beyond = np.flatnonzero(counts[at:] == 0)
        seen = counts[: at + int(beyond[0])] if len(beyond) else counts
        kept = float(seen @ np.minimum(middle[: len(seen)], radius[c] ** 2))
        cut[c] = min(MOST_CUT, float(seen @ middle[: len(seen)]) / kept) if kept > 0 else 1.0
    return Lengths(radius, cut)
