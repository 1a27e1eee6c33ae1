"""How finely a pair is measured: an ordered column may have fewer, wider groups in a pair than in the model.

Noise grows with the cells of a pair, and what wide groups hide shrinks with them; each pair gets the groups with which
both together are least. Groups are nested, so the model needs no more groups of a column than the finest pair worth
measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE
from kagemusha.synthesizers.kage.constants import FIRM, KEPT, SMOOTH
from kagemusha.synthesizers.kage.grouping import merge_neighbours, sums


@dataclass(frozen=True, eq=False)
class Levels:
    """Groups of a column's codes, finest first, each level merging groups of the one before; the records of each."""

    groups: Sequence[IntArray]
    counts: Sequence[FloatArray]
    ordered: Sequence[int]
    """How many groups of a level have an order: the first ones."""

    @classmethod
    def of(cls, group: IntArray, table: FloatArray, ordered: int) -> Levels:
        """All levels above these groups, each with about half as many, larger groups staying alone."""
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
    def masses(self) -> FloatArray:
        """Eight masses for each level that stand for those of all its groups."""
        return np.array([np.quantile(c, (np.arange(8) + 0.5) / 8) for c in self.counts])


def hidden(sizes: FloatArray, half: FloatArray | float) -> FloatArray:
    """The share of a dependence that so many groups hide, the finest first, where one more than `half` hide half.

    The finest hide nothing, one group everything.
    """
    return np.asarray((1 - (sizes - 1) / max(1.0, float(sizes[0]) - 1)) / (1 + (sizes - 1) / half))


def kept(noise: FloatArray | float, error: FloatArray | float, strength: FloatArray | float) -> FloatArray:
    """What raw noise over all cells comes to after the fit, in records, where measuring would mend this error."""
    return np.asarray(KEPT * noise * (1 + noise / (noise + error + 1e-9)) * (1 - FIRM * strength))


def spread(one: FloatArray, two: FloatArray, unit: PrivacyUnit) -> FloatArray:
    """The noise over all cells of an interaction of so many groups, over that of a count at the same cost."""
    alone = (one - 1) * (two - 1)
    if unit.relation is Adjacency.REPLACE:  # half of the squared distance between the two worst records
        alone = alone + np.maximum(one, two) - 1
    return np.sqrt(one * two * alone)


def felt(one: FloatArray, two: FloatArray, total: float, sigma: float) -> FloatArray:
    """The share of a pair's cells that feel noise of deviation `sigma`, from masses of groups on the last axes.

    A cell that expects few records loses at most twice as many.
    """
    expected = one[..., :, None] * two[..., None, :] / total
    return np.asarray(np.minimum(1.0, 2 * expected / (MEAN_ABSOLUTE * sigma)).mean(axis=(-2, -1)))


@dataclass(frozen=True)
class Level:
    """The levels of both columns at which a pair is measured, what they hide of it, and its noise."""

    places: tuple[int, int]
    rest: float
    noise: float


def best_level(
    one: Levels, two: Levels, signal: float, floor: float, strength: float, *, sigma: float, unit: PrivacyUnit
) -> Level:
    """Where a pair has least error, if a cell has noise of deviation `sigma`.

    Many groups hide half of a strong dependence, few of a weak one.
    """
    total = float(one.counts[0].sum())
    half = SMOOTH / max(1e-2, 1 - strength)
    sizes = one.sizes[:, None] * two.sizes
    rest = signal**2 * (hidden(one.sizes, half)[:, None] ** 2 + hidden(two.sizes, half) ** 2)
    rest += floor**2 * (1 - sizes / sizes[0, 0])
    share = felt(one.masses[:, None], two.masses[None, :], total, sigma)
    raw = MEAN_ABSOLUTE * sigma * spread(one.sizes[:, None], two.sizes[None, :], unit)
    noise = kept(raw * share, float(np.hypot(signal, floor)), strength)
    a, b = np.unravel_index(int(np.argmin(rest + noise**2)), sizes.shape)
    return Level((int(a), int(b)), float(np.sqrt(rest[a, b])), float(noise[a, b]))
