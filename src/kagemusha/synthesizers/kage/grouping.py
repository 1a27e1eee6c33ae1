"""Which codes share a group: what a noisy table cannot tell apart is modelled as one and shared out again later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.columns.measured import Measured
from kagemusha.schema import Schema
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.kage.constants import ROW

Tree = Sequence[IntArray]
"""For each level, fine ones first, the group of every code."""


def trees_of(schema: Schema | None) -> Mapping[str, Tree]:
    """The trees of the columns that have one."""
    found: dict[str, Tree] = {}
    for column in schema.modelled if schema is not None else ():
        if levels := column.tree():
            found[column.name] = [np.unique(level, return_inverse=True)[1].astype(np.int64) for level in levels[::-1]]
    return found


def ordered_codes(schema: Schema, domain: Domain) -> dict[str, int]:
    """How many of a column's codes have an order, those of numbers, dates and times.

    *missing* and the like come after them.
    """
    columns = {c.name: c for c in schema.modelled}
    return {n: c.n_values if isinstance(c := columns.get(n), Measured) else 0 for n in domain}


def merge(counts: FloatArray, threshold: float, ordered: int, *, tree: Tree = (), most: int | None = None) -> IntArray:
    """The group of every code, those with fewer records than the threshold sharing one.

    With their family if there is a tree; with their neighbours if the first `ordered` codes have an order, at a part
    of the threshold; else all together. With `most` there are no more groups than that: the threshold rises where
    there are families, and if that is not enough the rarest groups are one.
    """
    while True:
        if tree:
            group = merge_by_tree(counts, threshold, tree)
        elif ordered > 2:
            group = merge_neighbours(counts, ROW * threshold, ordered)
        else:
            group = merge_rare(counts, threshold)
        groups = int(group.max()) + 1
        if most is None or groups <= most:
            return group
        if threshold > counts.sum() or not (tree or ordered > 2):
            held = sums(counts, group)
            place = np.empty(groups, dtype=np.int64)
            place[np.argsort(-held, kind="stable")] = np.minimum(np.arange(groups), most - 1)
            return np.unique(place[group], return_inverse=True)[1].astype(np.int64)
        threshold = max(1.5 * threshold, float(counts.sum()) / (4 * len(counts)))


def merge_by_tree(counts: FloatArray, threshold: float, tree: Tree) -> IntArray:
    """The group of every code: alone at or above `threshold`, else in the smallest group that reaches it.

    What no group holds together shares the last one.
    """
    threshold = max(threshold, 1e-9)
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


def merge_rare(counts: FloatArray, threshold: float) -> IntArray:
    """The group of every code: those below `threshold` share the last group, all others stay alone."""
    rare = counts < threshold
    if rare.sum() < 2:
        return np.arange(len(counts))
    group = np.cumsum(~rare) - 1
    group[rare] = int((~rare).sum())
    return np.asarray(group, dtype=np.int64)


def merge_neighbours(counts: FloatArray, threshold: float, ordered: int) -> IntArray:
    """The group of every code of an ordered column: neighbours share one, about `threshold` records each.

    A code above the threshold stays alone; a stretch of smaller ones between two of them is cut into parts of about
    equal counts. The first `ordered` codes have an order, each of the others stays alone.
    """
    counts, others = counts[:ordered], len(counts) - ordered
    alone = counts >= threshold
    # stretches are numbered by the lone codes before them; a lone code is a stretch of its own
    stretch = np.cumsum(alone) + np.cumsum(np.concatenate([[False], alone[:-1]]))
    mass = np.bincount(stretch, counts)
    parts = np.where(np.bincount(stretch, alone) > 0, 1, np.maximum(1, np.floor(mass / max(threshold, 1e-9))))
    # where the middle of a code lies within its stretch, from 0 to 1, says which part it is in
    upto = np.cumsum(counts) - counts / 2 - np.concatenate([[0.0], np.cumsum(mass)])[stretch]
    place = np.divide(upto, mass[stretch], out=np.zeros(len(counts)), where=mass[stretch] > 0)
    part = np.minimum((place * parts[stretch]).astype(np.int64), parts[stretch].astype(np.int64) - 1)
    changes = (np.diff(stretch) != 0) | (np.diff(part) != 0)
    return np.cumsum(np.concatenate([[0], changes, np.ones(others)])).astype(np.int64)


def sums(counts: FloatArray, group: IntArray) -> FloatArray:
    """Counts of each group."""
    return np.asarray(np.bincount(group, counts, minlength=int(group.max()) + 1), dtype=np.float64)
