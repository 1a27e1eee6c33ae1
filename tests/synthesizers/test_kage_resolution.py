"""How finely kage measures a pair: as finely as its noise and its smoothness pay for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.queries.interactions import Interaction
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema import Integer, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.kage.beliefs import floor_of, signals
from kagemusha.synthesizers.kage.constants import USUAL
from kagemusha.synthesizers.kage.levels import Level, Levels, best_level, hidden, spread
from kagemusha.synthesizers.registry import create


def levels(codes: int, ordered: int | None = None, seed: int = 0) -> Levels:
    table = np.random.default_rng(seed).gamma(2.0, 500.0, codes)
    return Levels.of(np.arange(codes), table, codes if ordered is None else ordered)


@pytest.mark.parametrize(("codes", "ordered"), [(64, 64), (65, 64), (20, 20), (3, 3), (40, 0), (1, 1)])
def test_levels_are_nested_and_keep_order_and_records(codes: int, ordered: int) -> None:
    found = levels(codes, ordered)
    assert len(found) > 1 or ordered <= 3
    for (fine, wide), (many, few) in zip(pairwise(found.groups), pairwise(found.sizes), strict=True):
        assert few <= 0.8 * many
        assert all(len(set(wide[fine == group])) == 1 for group in np.unique(fine)), "a group is never torn apart"
        assert (np.diff(wide[:ordered]) >= 0).all()
    for group, counts, with_order in zip(found.groups, found.counts, found.ordered, strict=True):
        assert set(group) == set(range(len(counts)))
        assert counts.sum() == pytest.approx(found.counts[0].sum())
        assert with_order == (int(group[ordered - 1]) + 1 if ordered else 0)
        assert len(set(group[ordered:])) == codes - ordered, "what has no order stays alone"


def test_fewer_groups_hide_more_and_the_finest_hide_nothing() -> None:
    sizes = np.array([64.0, 32, 16, 8, 4, 2])
    for half in (0.5, 3.0, 50.0):
        share = hidden(sizes, half)
        assert share[0] == 0
        assert (np.diff(share) > 0).all()
    assert hidden(np.array([64.0, 1.0]), 3.0)[1] == 1, "one group says nothing"


@pytest.mark.parametrize("unit", [PrivacyUnit(), PrivacyUnit(Adjacency.REPLACE), PrivacyUnit(Adjacency.REPLACE, 3)])
@pytest.mark.parametrize("shape", [(2, 2), (2, 7), (5, 3), (12, 12)])
def test_the_noise_of_a_level_is_that_of_its_query(shape: tuple[int, int], unit: PrivacyUnit) -> None:
    """For both adjacencies: under replace a pair of binary columns has √2 times the noise of add-remove."""
    query = Interaction(("a", "b"), tuple(np.arange(n) for n in shape))
    squared = unit.sensitivity(query.sensitivity).l2_squared / unit.sensitivity(COUNTS).l2_squared
    assert spread(*map(np.array, shape), unit) == pytest.approx(squared**0.5)


def test_chance_alone_is_not_called_dependence() -> None:
    """Independent columns: their distance is what the floor says, and nothing is left of it."""
    rng = np.random.default_rng(0)
    tables, products = [], []
    for _ in range(12):
        counts = np.zeros((20, 15))
        np.add.at(counts, (rng.integers(0, 20, 5000), rng.choice(15, 5000, p=rng.dirichlet(np.ones(15)))), 1)
        tables.append(counts)
        products.append(np.outer(counts.sum(axis=1), counts.sum(axis=0)) / 5000)
    scores = np.array([np.abs(t - p).sum() for t, p in zip(tables, products, strict=True)])
    floors = np.array([floor_of(p) for p in products])
    np.testing.assert_allclose(floors, scores, rtol=0.15)
    signal = signals(NoisyVector(scores, 1.0), floors, 5000.0, np.ones(12))
    assert (signal < 0.6 * scores).all()
    np.testing.assert_allclose(np.hypot(signal, floors), scores, rtol=0.2)


def test_where_scores_say_nothing_something_is_believed_and_more_of_what_counts_more() -> None:
    floors = np.full(6, floor_of(np.full((4, 4), 50.0)))
    count = np.array([4.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    drowned = signals(NoisyVector(floors, 1e6), floors, 800.0, count)
    assert drowned[5] == pytest.approx(np.sqrt(USUAL * 800 * (USUAL * 800 + 2 * floors[0])), rel=0.01)
    assert drowned[0] == pytest.approx(np.sqrt(4 * USUAL * 800 * (4 * USUAL * 800 + 2 * floors[0])), rel=0.01)
    clear = signals(NoisyVector(floors, 1e-3), floors, 800.0, count)
    assert clear.max() < 0.1 * drowned[5], "what scores say counts where they are no noise"


def best(one: Levels, two: Levels, signal: float, noise: float, *, strength: float = 0.3, floor: float = 0.0) -> Level:
    return best_level(one, two, signal, floor, strength, sigma=noise, unit=PrivacyUnit())


def test_more_noise_makes_wider_groups_and_a_rough_dependence_finer_ones() -> None:
    one, two = levels(64), levels(64, seed=1)
    total = float(one.counts[0].sum())

    def cells(noise: float, strength: float) -> float:
        level = best(one, two, 0.3 * total, noise, strength=strength)
        return float(one.sizes[level.places[0]] * two.sizes[level.places[1]])

    by_noise = [cells(noise, 0.3) for noise in (0.01, 1.0, 10.0, 100.0, 1000.0)]
    assert by_noise[0] == 64 * 64
    assert by_noise == sorted(by_noise, reverse=True)
    assert by_noise[-1] <= 16
    by_strength = [cells(30.0, strength) for strength in (0.0, 0.5, 0.9, 1.0)]
    assert by_strength == sorted(by_strength)
    assert by_strength[0] < by_strength[-1], "few groups hide most of a strong dependence"


def test_the_best_level_is_the_one_of_least_error() -> None:
    """Brute force: no level of its own is better than the pair of levels that was taken."""
    one, two = levels(30), levels(12, seed=1)
    total = float(one.counts[0].sum())
    found = best(one, two, 0.2 * total, 25.0, floor=0.05 * total)

    def only(levels: Levels, place: int) -> Levels:
        # the finest level stays first: what is hidden is told beside it
        keep = [0, place] if place else [0]
        return Levels(*([list(x)[k] for k in keep] for x in (levels.groups, levels.counts, levels.ordered)))

    for a in range(len(one)):
        for b in range(len(two)):
            other = best(only(one, a), only(two, b), 0.2 * total, 25.0, floor=0.05 * total)
            assert np.hypot(found.rest, found.noise) <= np.hypot(other.rest, other.noise) + 1e-9


def test_wide_smooth_columns_are_measured_in_few_groups_and_rough_ones_in_many() -> None:
    """A smooth pair of 60 codes, and one whose neighbours have nothing in common."""
    rng = np.random.default_rng(0)
    rows = 40_000
    smooth = rng.normal(size=rows)
    other = 0.5 * smooth + rng.normal(size=rows)
    rough = rng.integers(0, 60, rows)
    follows = np.where(rng.random(rows) < 0.5, (rough * 37) % 60, rng.integers(0, 60, rows))

    def coded(x: np.ndarray) -> np.ndarray:
        return np.clip(((x + 3) * 10).astype(int), 0, 59)

    table = pa.table({"a": coded(smooth), "b": coded(other), "c": rough, "d": follows})
    schema = Schema([Integer(name, lower=0, upper=59) for name in "abcd"])
    model = fit(create("kage"), table, Budget(1.0, 1e-9), schema=schema, simulation=0)
    shapes = {m.query.clique: m.query.shape for m in model.interactions if len(m.query.clique) == 2}
    assert np.prod(shapes["c", "d"]) >= 3 * np.prod(shapes["a", "b"])
