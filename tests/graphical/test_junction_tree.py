from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagemusha.errors import ModelTooLarge
from kagemusha.graphical import candidate_cells, junction_tree, tree_cells
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN


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


@given(st.lists(attributes, max_size=8), st.lists(st.integers(1, 6), min_size=8, max_size=8), attributes)
def test_any_set_gives_a_junction_tree(sets, sizes, extra):
    domain = Domain(tuple("abcdefgh"), tuple(sizes))
    cliques = [domain.canonical(domain.names[i] for i in s) for s in sets]
    candidate = domain.canonical(domain.names[i] for i in extra)
    tree = junction_tree(domain, cliques)
    assert_is_junction_tree(tree, cliques)
    inside = tree.host(candidate) is not None
    assert candidate_cells(domain, cliques, [candidate]) == [
        tree.cells if inside else tree_cells(domain, [*cliques, candidate])
    ]


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
