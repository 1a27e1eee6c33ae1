"""What scores say of every pair: how far it is from independence, and how smooth that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE, gaussian_sigma
from kagemusha.synthesizers.kage.choice import shrink_to_mean
from kagemusha.synthesizers.kage.grouping import merge_neighbours, sums
from kagemusha.synthesizers.kage.state import Measurements

COLUMN_KEPT = 0.7
"""Share of a column's raw noise that is left after estimation."""

USUAL, WANTED = 0.05, 0.3
"""Share of the records by which pairs are usually further from independence than chance brings: all that is believed
where scores say nothing. The second for pairs of a named target."""

TRUSTED = 4.0
"""What a wider look says of a dependence as large as this many deviations of a score counts as much as what is
usual."""

STRONG = 0.75
"""Of a stronger dependence a few wide groups show so little that more groups are thought to be needed than they say."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """What the scores tell of every pair, in records.

    A score is made of the dependence itself (`signal`), of what chance puts between independent columns of so many
    records (`floor`), and of the noise of the columns it is measured from; squares add up, and `base` is all but the
    first.
    """

    signal: FloatArray
    floor: FloatArray
    base: FloatArray
    strength: FloatArray
    """The signal from 0 to 1, where a column determines the other."""
    half: FloatArray
    """How many groups of a column hide half of the signal."""

    @property
    def left_out(self) -> FloatArray:
        """The error of each pair if it is not measured."""
        return np.hypot(self.signal, self.floor)


def dependence(
    pairs: Sequence[Clique],
    products: Sequence[FloatArray],
    scores: NoisyVector,
    errors: Mapping[str, float],
    total: float,
    levels: Mapping[str, Levels],
    wider: Mapping[int, float],
    wider_sigma: float,
    named: npt.NDArray[np.bool_],
) -> Dependence:
    """What noisy distances of `pairs` from the `products` of their columns tell; `errors` are those of the columns.

    `wider` are the distances of some pairs (by their place) over wide groups; `named` says which pairs have the named
    target.
    """
    floor = np.array([floor_of(product) for product in products])
    in_columns = np.array([sum(errors[name] ** 2 for name in pair) for pair in pairs])
    base = np.sqrt(floor**2 + in_columns)
    above = np.maximum(_above(scores.values - base, scores.sigma, total, named), 0.0)
    signal = np.sqrt(above * (above + 2 * base))
    # two columns that determine each other are 2·N·(1 − 1/codes) apart from independence
    most = np.array([2 * total * (1 - 1 / min(p.shape)) if min(p.shape) > 1 else 1.0 for p in products])
    strength = np.minimum(signal / most, 1.0)
    half = usual_half(strength)
    for i, score in wider.items():
        if signal[i] > 0:
            one, two = (levels[name] for name in pairs[i])
            wide_floor = floor_of(np.outer(one.counts[one.wide], two.counts[two.wide]) / total)
            shown = score * abs(score) - wide_floor**2 - in_columns[i]
            share = math.sqrt(min(1.0, max(0.0, 1 - shown / signal[i] ** 2)))
            trust = signal[i] ** 2 / (signal[i] ** 2 + (TRUSTED * wider_sigma) ** 2)
            half_seen = seen_half(
                one, two, trust * share + (1 - trust) * float(hidden_by_both(one, two, float(half[i])))
            )
            half[i] = max(half[i], half_seen) if strength[i] > STRONG else half_seen
    return Dependence(signal, floor, base, strength, half)


def _above(excess: FloatArray, sigma: float, total: float, named: npt.NDArray[np.bool_]) -> FloatArray:
    """What scores say beyond their base.

    Drawn together where they are noise, and towards what is usual where even their mean is. Pairs of a `named` target
    are believed to depend on each other as far as their own scores are noise: somebody wants to learn it.
    """
    found = shrink_to_mean(excess, sigma)
    usual, noise = USUAL * total, sigma**2 / len(excess)
    found = found + (usual - float(excess.mean())) * noise / (noise + usual**2)
    wanted = WANTED * total
    share = sigma**2 / (sigma**2 + wanted**2)
    return np.asarray(np.where(named, np.maximum(found, (1 - share) * found + share * wanted), found))


def floor_of(product: FloatArray) -> float:
    """How far a table of independent records is from its expected counts by chance, in records."""
    share = math.prod(1 - 1 / n for n in product.shape)
    return float(np.minimum(MEAN_ABSOLUTE * np.sqrt(product), 2 * product).sum()) * math.sqrt(share)


def column_errors(known: Measurements, unit: PrivacyUnit, cost: float) -> dict[str, float]:
    """The error of every column if all of them are measured at this cost (ρ), in records.

    At most what its rare codes hold.
    """
    split = sum(size ** (2 / 3) for size in known.domain.sizes)
    found = {}
    for name, table in known.tables.items():
        sigma = gaussian_sigma(unit, cost) * math.sqrt(split / len(table) ** (2 / 3))
        found[name] = COLUMN_KEPT * MEAN_ABSOLUTE * float(np.minimum(sigma, table + 0.1 * sigma).sum())
    return found


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
    """Groups of a column's codes, finest first, each level merging groups of the one before.

    And the records of each group.
    """

    groups: Sequence[IntArray]
    counts: Sequence[FloatArray]
    ordered: Sequence[int]
    """How many groups of a level have an order: the first ones."""

    @classmethod
    def of(cls, group: IntArray, table: FloatArray, ordered: int) -> Levels:
        """All levels of a column with these finest groups.

        Each has about half as many as the one before, larger groups staying alone.
        """
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
    """The share of a dependence that so many groups hide, the finest first, where `half` of them hide half.

    The finest hide nothing. Of a smooth dependence k groups hide about one k-th. On the pairs of the zoo's train half
    this holds within a factor of two for most columns, with a `half` of their own.
    """
    return np.asarray((1 - (sizes - 1) / max(1.0, float(sizes[0]) - 1)) / (1 + sizes / half))


def usual_half(strength: FloatArray) -> FloatArray:
    """How many groups hide half of a dependence of this strength (0 to 1), if nothing else is known.

    Many of a strong one.
    """
    return np.asarray(SMOOTH / np.maximum(1e-2, 1 - strength))


def hidden_by_both(one: Levels, two: Levels, half: FloatArray | float) -> FloatArray:
    """The share of a pair's dependence that the groups of its wider look hide, for each `half`."""
    return np.hypot(one.hidden_when_wide(half), two.hidden_when_wide(half))


def seen_half(one: Levels, two: Levels, share: float) -> float:
    """How many groups hide half of the dependence, if those of the wider look hide this share of it."""
    return float(np.interp(share, hidden_by_both(one, two, HALVES), HALVES))
