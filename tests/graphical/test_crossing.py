"""Pairs across cliques, all at once, against the whole joint table and against one walk for each."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.graphical import MarkovField, crossing
from kagemusha.graphical.crossing import better_together, crossing_pairs
from kagemusha.graphical.queries import TreeQueries
from kagemusha.graphical.regions import regions_of
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN, joint, marginal, random_potentials


def across(model: MarkovField) -> list[tuple[str, ...]]:
    return [pair for pair in combinations(model.domain.names, 2) if model.tree.host(pair) is None]


def queries(model: MarkovField) -> TreeQueries:
    return TreeQueries(model.tree, model.clique_marginals, max_cells=1 << 20)


def assert_right(model: MarkovField) -> None:
    _, table = joint(model.domain, model.potentials)
    found = crossing_pairs(model.tree, queries(model)._inside, across(model))
    assert list(found) == across(model)
    for pair, got in found.items():
        np.testing.assert_allclose(got, marginal(model.domain, table, pair), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_against_the_whole_joint(name: str) -> None:
    assert_right(MarkovField.build(DOMAIN, 1.0, random_potentials(CLIQUE_SETS[name], 1.0, seed=3)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), max_size=10),
    st.lists(st.integers(1, 3), min_size=8, max_size=8),
)
def test_any_tree(sets: list[set[int]], sizes: list[int]) -> None:
    domain = Domain(tuple("abcdefgh"), tuple(sizes))
    cliques = list(dict.fromkeys(domain.canonical(domain.names[i] for i in members) for members in sets))
    potentials = random_potentials(cliques, 2.0, 0, domain)
    for table in potentials.values():
        table.flat[::5] = -np.inf if table.size > 5 else 0.0
    if np.isfinite(MarkovField.build(domain, 1.0, potentials).log_partition):
        assert_right(MarkovField.build(domain, 1.0, potentials))


def test_many_pairs_come_together_and_are_those_of_single_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    domain = Domain(tuple(f"x{i}" for i in range(30)), tuple(rng.integers(2, 6, 30).tolist()))
    parents = [int(rng.integers(max(0, i - 4), i)) for i in range(1, 30)]
    cliques = [(domain.names[p], domain.names[i]) for i, p in enumerate(parents, 1)] + [("x0", "x3", "x7")]
    model = MarkovField.build(domain, 1.0, random_potentials(cliques, 1.0, 1, domain))
    pairs = across(model)
    one_by_one = [queries(model).project_many([pair])[0] for pair in pairs]
    walks: list[object] = []
    monkeypatch.setattr(TreeQueries, "_across", lambda self, clique: walks.append(clique))
    for got, expected in zip(queries(model).project_many(pairs), one_by_one, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert not walks


WIDE = [("a", "b", "c"), ("b", "c", "d"), ("c", "d", "e"), ("c", "e", "f"), ("f", "g"), ("f", "h")]


@pytest.mark.parametrize("some", [1, 40, 1 << 22])
def test_things_are_carried_over_wide_separators_a_few_states_at_a_time(
    some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Separators of 20 to 25 states before one column each: one region; a hub of narrow ones: cut off."""
    domain = Domain(tuple("abcdefgh"), (4, 5, 5, 4, 5, 2, 3, 3))
    model = MarkovField.build(domain, 1.0, random_potentials(WIDE, 1.0, 1, domain))
    regions, rows = regions_of(model.tree, domain.names)
    assert max(len(region.nodes) for region in regions) >= 3
    assert len(regions) > 1
    assert sorted(row.stop - row.start for row in rows.values()) == sorted(domain.sizes)
    monkeypatch.setattr(crossing, "CARRIED_CELLS", some)
    assert_right(model)


def test_states_that_hardly_ever_occur_are_no_trouble() -> None:
    """Their share of the rest is a quotient of two numbers next to nothing."""
    domain = Domain(tuple("abcdefgh"), (30,) * 8)
    potentials = {pair: np.zeros((30, 30)) for pair in pairwise(domain.names)}
    for name in ("c", "d", "f"):
        potentials[name,] = np.append(np.zeros(29), -707.5)
    model = MarkovField.build(domain, 1.0, potentials)
    assert 0 < model.project(("c",)).min() < 1 / np.finfo(float).max
    pairs = across(model)
    found = crossing_pairs(model.tree, queries(model)._inside, pairs)
    for pair in pairs:
        np.testing.assert_allclose(found[pair], queries(model).project_many([pair])[0], rtol=1e-9, atol=1e-15)


def test_few_pairs_are_walked_to_and_many_are_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain(tuple(f"c{i}" for i in range(12)), (3,) * 12)
    model = MarkovField.build(
        domain, 1.0, random_potentials([(f"c{i}", f"c{i + 1}") for i in range(11)], 1.0, 0, domain)
    )
    pairs = across(model)
    assert better_together(model.tree, pairs)
    assert not better_together(model.tree, pairs[:5])
    monkeypatch.setattr(crossing, "PRODUCTS_PER_CELL", 0)
    assert not better_together(model.tree, pairs)
    monkeypatch.setattr(crossing, "WALKED_CELLS", 8)  # cliques of nine cells are too large to walk through
    assert better_together(model.tree, pairs[:1])
    assert not better_together(model.tree, [])


def test_pairs_beyond_reach_are_counted_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """In bounded time, and near to what the walk gives; what is within reach is exact."""
    domain = Domain(tuple(f"c{i}" for i in range(30)), (4,) * 30)
    model = MarkovField.build(
        domain, 1000.0, random_potentials([(f"c{i}", f"c{i + 1}") for i in range(29)], 1.5, 0, domain)
    )
    pairs = [("c0", "c1"), ("c0", "c3"), ("c0", "c29"), ("c29", "c2"), ("c5",)]
    exact = model.project_many(pairs)
    monkeypatch.setattr(crossing, "MOST_WALKED", 200)
    soon = model.project_soon(pairs)
    assert [np.array_equal(a, b) for a, b in zip(exact, soon, strict=True)] == [True, True, False, False, True]
    for one, two in zip(exact, soon, strict=True):
        assert np.abs(one - two).sum() / model.total < 0.01


def test_a_column_of_very_many_codes_is_walked_to() -> None:
    """All codes by each other would be 20,000 × 20,000 of which nobody asked for more than a few columns."""
    import tracemalloc

    sizes = (20_000, 3, 4, 5, 2, 3, 2)
    domain = Domain(tuple("abcdefg"), sizes)
    rng = np.random.default_rng(0)
    potentials = {pair: rng.normal(size=domain.shape(pair)) for pair in pairwise(domain.names)}
    field = MarkovField.build(domain, 1.0, potentials)
    pairs = [pair for pair in combinations(domain.names, 2) if field.tree.host(pair) is None]
    assert not better_together(field.tree, pairs)
    tracemalloc.start()
    tables = field.project_soon(pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    for pair, table in zip(pairs, tables, strict=True):
        assert table.shape == domain.shape(pair)
        assert table.sum() == pytest.approx(1.0)
