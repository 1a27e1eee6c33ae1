from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import ModelTooLarge
from kagemusha.graphical import GrowingTree, candidate_cells, candidates_within, junction_tree, tree_cells
from kagemusha.graphical.junction_tree import triangulation
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN, eliminate, smallest_tree


def assert_is_junction_tree(tree, cliques):
    domain = tree.domain
    assert set().union(*map(set, tree.cliques)) == set(domain.names)
    for clique in cliques:
        assert any(set(clique) <= set(c) for c in tree.cliques)
    for i, c in enumerate(tree.cliques):
        assert c == domain.canonical(c)
        assert not any(i != j and set(c) <= set(other) for j, other in enumerate(tree.cliques))
    assert tree.parents[0] == -1
    assert all(0 <= p < i for i, p in enumerate(tree.parents) if i)
    for i, p in enumerate(tree.parents):
        if i:
            assert set(tree.separators[i]) == set(tree.cliques[i]) & set(tree.cliques[p])
            # Running intersection: what a clique shares with all before it, it shares with its parent.
            before = set().union(*map(set, tree.cliques[:i]))
            assert set(tree.cliques[i]) & before == set(tree.separators[i])


@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_named_sets(name):
    cliques = CLIQUE_SETS[name]
    tree = junction_tree(DOMAIN, cliques)
    assert_is_junction_tree(tree, cliques)
    assert tree.cells == sum(DOMAIN.cells(c) for c in tree.cliques) == tree_cells(DOMAIN, cliques)


attributes = st.sets(st.integers(0, 7), min_size=1, max_size=3)


@settings(deadline=None)  # the first example may have to compile
@given(st.lists(attributes, max_size=8), st.lists(st.integers(1, 6), min_size=8, max_size=8), attributes)
def test_any_set_gives_a_junction_tree(sets, sizes, extra):
    domain = Domain(tuple("abcdefgh"), tuple(sizes))
    cliques = [domain.canonical(domain.names[i] for i in s) for s in sets]
    candidate = domain.canonical(domain.names[i] for i in extra)
    tree = junction_tree(domain, cliques)
    assert_is_junction_tree(tree, cliques)
    assert candidate_cells(domain, cliques, [candidate]) == [tree_cells(domain, [*cliques, candidate])]


def random_cliques(domain, count, rng):
    sizes = rng.integers(1, min(4, len(domain) + 1), count)
    picked = (rng.choice(len(domain), size, replace=False) for size in sizes)
    return [tuple(domain.names[i] for i in sorted(p)) for p in picked]


def random_domain(columns, largest, rng):
    return Domain(tuple(f"x{i}" for i in range(columns)), tuple(map(int, rng.integers(1, largest + 1, columns))))


def assert_same_as_brute_force(domain, cliques, candidates):
    for heuristic in ("cells", "fill"):
        assert triangulation(domain, cliques, heuristic) == eliminate(domain, cliques, heuristic)
    cells, tree = smallest_tree(domain, cliques)
    assert sorted(junction_tree(domain, cliques).cliques) == sorted(tree)
    assert tree_cells(domain, cliques) == cells
    assert candidate_cells(domain, cliques, candidates) == [
        cells if any(set(c) <= set(t) for t in tree) else smallest_tree(domain, [*cliques, c])[0] for c in candidates
    ]


@pytest.mark.parametrize("largest", [1, 2, 4, 30])
@pytest.mark.parametrize("columns", range(1, 21))
def test_elimination_is_that_of_exact_numbers(columns, largest):
    """Small sizes tie all the time: the order of ties is compared too."""
    rng = np.random.default_rng(100 * columns + largest)
    domain = random_domain(columns, largest, rng)
    for count in (0, columns // 2, columns, 2 * columns):
        assert_same_as_brute_force(domain, random_cliques(domain, count, rng), random_cliques(domain, 5, rng))


@pytest.mark.parametrize("columns", [63, 64, 65, 100, 130])
def test_more_columns_than_a_word_has_bits(columns):
    rng = np.random.default_rng(columns)
    domain = random_domain(columns, 5, rng)
    assert_same_as_brute_force(domain, random_cliques(domain, columns, rng), random_cliques(domain, 2, rng))


@pytest.mark.parametrize("seed", range(10))
def test_sizes_beyond_any_integer_type(seed):
    """Powers of two are exact in floats however large, so that even the order of ties is that of exact numbers."""
    rng = np.random.default_rng(seed)
    domain = Domain(tuple(f"x{i}" for i in range(15)), tuple(2 ** int(e) for e in rng.integers(24, 32, 15)))
    cliques = random_cliques(domain, 15, rng)
    assert tree_cells(domain, cliques) > 2**63
    assert_same_as_brute_force(domain, cliques, random_cliques(domain, 5, rng))


@pytest.mark.parametrize("seed", range(10))
def test_rounded_sizes_are_told_exactly(seed):
    rng = np.random.default_rng(seed)
    domain = random_domain(30, 10**12, rng)
    cliques, candidates = random_cliques(domain, 40, rng), random_cliques(domain, 3, rng)
    tree = junction_tree(domain, cliques)
    assert_is_junction_tree(tree, cliques)
    assert 2**63 < tree_cells(domain, cliques) == sum(map(domain.cells, tree.cliques))
    assert candidate_cells(domain, cliques, candidates) == [
        junction_tree(domain, [*cliques, c]).cells for c in candidates
    ]


def test_sizes_beyond_any_float():
    domain = Domain(tuple(f"x{i}" for i in range(40)), (10**12,) * 40)
    assert tree_cells(domain, [domain.names]) == 10**480
    half = domain.names[:20]
    assert candidate_cells(domain, [half], [domain.names, half]) == [10**480, 10**240 + 20 * 10**12]


@pytest.mark.parametrize("limit", [0, 60, 200, 1000, 10**5, 2**70])
@pytest.mark.parametrize("columns", [1, 2, 6, 12])
def test_a_growing_tree_takes_what_candidate_cells_allows(columns, limit):
    rng = np.random.default_rng(columns)
    domain = random_domain(columns, 6, rng)
    growing, taken = GrowingTree(domain, limit), []
    for clique in random_cliques(domain, 60, rng):
        fits = candidate_cells(domain, taken, [clique])[0] <= limit
        assert growing.add(clique) is fits
        taken += [clique] if fits else []


@pytest.mark.parametrize("limit", [0, 60.5, 200, 1000, 10**5, 2.0**70])
@pytest.mark.parametrize("columns", [1, 2, 6, 12, 70])
@pytest.mark.parametrize("kind", ["dense", "a tree"])
def test_candidates_within_a_limit_are_those_whose_cells_are(columns, limit, kind):
    """What their eliminations share is done once, and leads to the same answers as one elimination for each."""
    rng = np.random.default_rng(columns)
    domain = random_domain(columns, 6, rng)
    base, candidates = random_cliques(domain, columns, rng), random_cliques(domain, 60, rng)
    if kind == "a tree":
        base = [(domain.names[int(rng.integers(max(0, i - 5), i))], domain.names[i]) for i in range(1, columns)]
    expected = [cells <= limit for cells in candidate_cells(domain, base, candidates)]
    assert candidates_within(domain, base, candidates, limit) == expected


def test_a_growing_tree_keeps_what_it_starts_from_whatever_its_size():
    domain = Domain(tuple("abcd"), (10,) * 4)
    first = [("a", "b", "c")]
    growing = GrowingTree(domain, 1000, first)
    assert tree_cells(domain, first) > 1000
    assert not growing.add(("c", "d"))
    growing = GrowingTree(domain, 1100, first)
    assert [growing.add(pair) for pair in (("c", "d"), ("a", "d"))] == [True, False]


@pytest.mark.parametrize("seed", [10, 24, 65, 115])
def test_a_growing_tree_never_ends_above_its_limit(seed):
    # here pairs inside a clique of the present tree make greedy elimination find a larger one, beyond the limit
    rng = np.random.default_rng(seed)
    domain = random_domain(16, 12, rng)
    limit = int(10 ** rng.uniform(3, 5.5))
    growing, taken = GrowingTree(domain, limit), []
    for pair in rng.permutation(list(combinations(domain.names, 2))):
        taken += [tuple(pair)] if growing.add(pair) else []
    assert 0.5 * limit < tree_cells(domain, taken) <= limit


def test_trees_are_small_where_the_best_is_known():
    chain = Domain(tuple("abcdefghij"), (5,) * 10)
    cliques = list(zip(chain.names, chain.names[1:], strict=False))
    assert tree_cells(chain, cliques) == 9 * 25
    assert tree_cells(chain, [*cliques, ("a", "j")]) == 8 * 125


def test_a_domain_without_attributes():
    tree = junction_tree(Domain((), ()), [])
    assert tree.cliques == ((),)
    assert tree.cells == 1


def test_too_large_names_clique_cells_and_limit():
    domain = Domain(("age", "job", "town"), (100, 50, 1000))
    with pytest.raises(ModelTooLarge, match=r"5,000,000 cells.*limit is 1,000,000.*age, job, town"):
        junction_tree(domain, [("age", "job", "town")], max_cells=1_000_000)


def test_sizes_beyond_any_memory_are_only_numbers():
    domain = Domain(tuple(f"x{i}" for i in range(40)), (1000,) * 40)
    assert tree_cells(domain, [domain.names]) == 1000**40
    with pytest.raises(ModelTooLarge):
        junction_tree(domain, [domain.names], max_cells=10**9)


def test_host_is_the_smallest_clique():
    domain = Domain(tuple("abc"), (2, 9, 3))
    tree = junction_tree(domain, [("a", "b"), ("a", "c")])
    assert tree.cliques[tree.host(("a",))] == ("a", "c")
    assert tree.host(("b", "c")) is None
    assert np.array_equal(sorted(tree.neighbours[0]), [1])
