"""Codes that belong together: where noise drowns a code, the smallest group that stands out is modelled in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.schema import Schema

Tree = Sequence[IntArray]
"""For each level, fine ones first, the group of every code."""


def trees_of(schema: Schema | None) -> Mapping[str, Tree]:
    """The trees of the columns that have one."""
    found: dict[str, Tree] = {}
    for column in schema.modelled if schema is not None else ():
        if levels := column.tree():
            found[column.name] = [np.unique(level, return_inverse=True)[1].astype(np.int64) for level in levels[::-1]]
    return found


def merge_by_tree(counts: FloatArray, threshold: float, tree: Tree, *, most: int | None = None) -> IntArray:
    """The group of every code: a code at or above `threshold` stays alone, others share the smallest group that reaches it.

    What no group holds together shares the last one. With `most`, the threshold rises until there are no more groups.
    """
    threshold = max(threshold, 1e-9)
    while True:
        group = _merged(counts, threshold, tree)
        if most is None or int(group.max()) + 1 <= max(1, most):
            return group
        threshold *= 1.5


def _merged(counts: FloatArray, threshold: float, tree: Tree) -> IntArray:
    label = np.full(len(counts), -1, dtype=np.int64)
    label[counts >= threshold] = np.flatnonzero(counts >= threshold)
    taken = len(counts)
    for level in tree:
        rest = np.flatnonzero(label < 0)
        held = np.bincount(level[rest], counts[rest], minlength=int(level.max()) + 1)
        enough = held[level[rest]] >= threshold
        label[rest[enough]] = taken + level[rest[enough]]
        taken += int(level.max()) + 1
    label[label < 0] = taken
    return np.unique(label, return_inverse=True)[1].astype(np.int64)
