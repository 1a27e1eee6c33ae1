"""Nested ways to merge a column's neighbours, and how much of a dependence wide groups hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.synthesizers.kage.grouping import merge_neighbours, sums

FEW, LOOK = 8, 6
"""A column with at least so many groups is looked at in about so many, too."""

SMOOTH = 3.0
"""Groups that hide half of a weak dependence, if nothing is known."""

HALVES: FloatArray = np.geomspace(0.2, 500.0, 40)
"""Numbers of groups that may hide half of a dependence."""

SUMMARY = 8
"""Masses that stand for those of all groups of a column."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Groups of a column's codes, finest first, each level merging groups of the one before; and the records of each group."""

    groups: Sequence[IntArray]
    counts: Sequence[FloatArray]
    ordered: Sequence[int]
    """How many groups of a level have an order: the first ones."""

    @classmethod
    def of(cls, group: IntArray, table: FloatArray, ordered: int) -> Levels:
        """All levels of a column with these finest groups; each has about half as many as the one before, larger groups staying alone."""
        groups, counts, with_order = [group], [sums(table, group)], [ordered]
        threshold = 2 * float(counts[0][:ordered].sum()) / max(1, ordered)
        while ordered > 3 and threshold <= 0.51 * counts[0].sum():
            wider = merge_neighbours(counts[-1], threshold, ordered)
            if wider.max() + 1 <= 0.8 * len(counts[-1]):
                ordered = int(wider[ordered - 1]) + 1
                groups.append(wider[groups[-1]])
                counts.append(sums(table, groups[-1]))
                with_order.append(ordered)
            threshold = max(2 * threshold, 1e-9)
        return cls(groups, counts, with_order)

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def sizes(self) -> FloatArray:
        """Groups of each level."""
        return np.array([len(c) for c in self.counts], dtype=np.float64)

    @cached_property
    def wide(self) -> int:
        """The level of the wider look, 0 where there is none."""
        return int(np.argmin(np.abs(np.log(self.sizes / LOOK)))) if self.sizes[0] >= FEW else 0

    def hidden_when_wide(self, half: FloatArray | float) -> FloatArray:
        """The share of a dependence that the level of the wider look hides, see `hidden`."""
        finest, wide = self.sizes[0], self.sizes[self.wide]
        return np.asarray((1 - (wide - 1) / max(1.0, finest - 1)) / (1 + wide / half))

    @cached_property
    def masses(self) -> FloatArray:
        """A few masses for each level that stand for those of all its groups."""
        places = (np.arange(SUMMARY) + 0.5) / SUMMARY
        return np.array([np.quantile(c, places) for c in self.counts])


def hidden(sizes: FloatArray, half: FloatArray | float) -> FloatArray:
    """The share of a dependence that so many groups hide, the finest first, where `half` of them hide half; the finest hide nothing.

    Of a smooth dependence k groups hide about one k-th. On the pairs of the zoo's train half this holds within a factor of two for
    most columns, with a `half` of their own.
    """
    return np.asarray((1 - (sizes - 1) / max(1.0, float(sizes[0]) - 1)) / (1 + sizes / half))


def usual_half(strength: FloatArray) -> FloatArray:
    """How many groups hide half of a dependence of this strength (0 to 1), if nothing else is known: many of a strong one."""
    return np.asarray(SMOOTH / np.maximum(1e-2, 1 - strength))


def hidden_by_both(one: Levels, two: Levels, half: FloatArray | float) -> FloatArray:
    """The share of a pair's dependence that the groups of its wider look hide, for each `half`."""
    return np.hypot(one.hidden_when_wide(half), two.hidden_when_wide(half))


def seen_half(one: Levels, two: Levels, share: float) -> float:
    """How many groups hide half of the dependence, if those of the wider look hide this share of it."""
    return float(np.interp(share, hidden_by_both(one, two, HALVES), HALVES))
