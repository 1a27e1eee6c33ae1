"""How finely each pair is measured: an ordered column may have fewer, wider groups in a pair than in the model.

Noise grows with the cells of a pair, and what wide groups hide shrinks with them; each pair gets the groups with which
both together are least. Groups are nested, so the model needs no more groups of a column than the finest pair worth
measuring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.queries.interactions import Interaction
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE
from kagemusha.synthesizers.kage.dependence import Dependence, Levels, hidden
from kagemusha.synthesizers.kage.grouping import merged_interaction, sums
from kagemusha.synthesizers.kage.state import Measurements

KEPT, CARRIED = 0.7, 0.8
"""Share of a pair's raw noise that estimation leaves in it, and what more it does to other pairs where it drowns
what is measured."""

FIRM = 0.5
"""A pair that determines itself feels this share of noise less: most of its cells are empty."""

FELT = 0.3
"""A cell that expects this many deviations of noise feels all of it, one that expects less only a part."""


@dataclass(frozen=True, eq=False)
class Resolved:
    """The model's groups, a question per pair, what wide groups hide of it (in records), and independent pairs."""

    known: Measurements
    queries: Sequence[Interaction]
    rest: FloatArray
    products: Sequence[FloatArray]


def kept(noise: FloatArray, error: FloatArray | float, strength: FloatArray | float) -> FloatArray:
    """What raw noise over all cells of a pair comes to in the end, in records.

    `error` is what measuring it would mend.
    """
    return np.asarray(noise * (KEPT + CARRIED * noise / (noise + error + 1e-9)) * (1 - FIRM * strength))


@dataclass(frozen=True)
class Level:
    """The level of both columns at which a pair is measured, what that leaves of its error, and its noise."""

    places: tuple[int, int]
    rest: float
    noise: float


def best_level(one: Levels, two: Levels, seen: Dependence, i: int, typical: float, total: float) -> Level:
    """Where pair `i` has least error, if a cell has `typical` noise."""
    sizes = one.sizes[:, None] * two.sizes
    signal, floor, half = (float(x[i]) for x in (seen.signal, seen.floor, seen.half))
    rest = signal**2 * (hidden(one.sizes, half)[:, None] ** 2 + hidden(two.sizes, half) ** 2)
    rest += floor**2 * (1 - sizes / sizes[0, 0])
    expected = one.masses[:, None, :, None] * two.masses[None, :, None, :] / total
    felt = np.minimum(1.0, expected / (FELT * typical)).mean(axis=(2, 3))
    raw = MEAN_ABSOLUTE * typical * np.sqrt((one.sizes * (one.sizes - 1))[:, None] * two.sizes * (two.sizes - 1))
    noise = kept(raw * felt, float(np.hypot(signal, floor)), float(seen.strength[i]))
    a, b = np.unravel_index(int(np.argmin(rest + noise**2)), sizes.shape)
    return Level((int(a), int(b)), float(np.sqrt(rest[a, b])), float(noise[a, b]))


def resolved(
    known: Measurements, pairs: Sequence[Clique], seen: Dependence, levels: Mapping[str, Levels], typical: float
) -> Resolved:
    """A question about each pair, as fine as pays, and the model's groups.

    As fine as the finest pair worth measuring needs.
    """
    total = known.columns.total
    chosen = [best_level(levels[a], levels[b], seen, i, typical, total) for i, (a, b) in enumerate(pairs)]
    finest = {name: len(levels[name]) - 1 for name in known.domain}
    for pair, level, error in zip(pairs, chosen, seen.left_out.tolist(), strict=True):
        if np.hypot(level.rest, level.noise) < error:
            for name, place in zip(pair, level.places, strict=True):
                finest[name] = min(finest[name], place)
    groups = {name: levels[name].groups[place] for name, place in finest.items()}
    ordered = {name: levels[name].ordered[place] for name, place in finest.items()}
    model = Measurements(known.domain, known.columns, groups, ordered)
    queries = []
    for pair, level in zip(pairs, chosen, strict=True):
        given = {
            name: levels[name].groups[max(place, finest[name])]
            for name, place in zip(pair, level.places, strict=True)
            if len(levels[name]) > 1
        }
        queries.append(
            merged_interaction(known.tables, groups, ordered, pair, typical, known.columns.trees, given=given)
        )
    tables = {name: sums(known.tables[name], group) for name, group in groups.items()}
    products = [np.outer(tables[a], tables[b]) / total for a, b in pairs]
    return Resolved(model, queries, np.array([level.rest for level in chosen]), products)
