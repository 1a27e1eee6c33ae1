from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.graphical.belief_propagation import BeliefPropagation
from kagemusha.graphical.junction_tree import junction_tree
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN, joint, marginal, random_potentials


def check(domain, potentials):
    inference = BeliefPropagation(junction_tree(domain, potentials), potentials)
    log_z, mu = inference(inference.pack(potentials))
    expected_z, table = joint(domain, potentials)
    assert log_z == pytest.approx(expected_z, rel=1e-12, abs=1e-10)
    for clique, got in zip(potentials, inference.unpack(mu), strict=True):
        np.testing.assert_allclose(got, marginal(domain, table, clique), rtol=1e-9, atol=1e-14)
    for clique, got in zip(inference.tree.cliques, inference.clique_marginals(), strict=True):
        np.testing.assert_allclose(got, marginal(domain, table, clique), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("scale", [0.1, 3.0, 300.0])
@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_against_the_whole_joint(name, scale):
    check(DOMAIN, random_potentials(CLIQUE_SETS[name], scale, seed=len(name)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=7),
    st.lists(st.integers(1, 5), min_size=6, max_size=6),
    st.integers(0, 1000),
)
def test_any_clique_set(sets, sizes, seed):
    domain = Domain(tuple("abcdef"), tuple(sizes))
    cliques = {domain.canonical(domain.names[i] for i in s) for s in sets}
    check(domain, random_potentials(sorted(cliques), 2.0, seed, domain))


@pytest.mark.parametrize("name", ["chain", "cycle", "star", "triples", "nested"])
def test_structural_zeros_pass_through(name):
    potentials = random_potentials(CLIQUE_SETS[name], 1.0, seed=3)
    for table in potentials.values():
        table[np.random.default_rng(5).random(table.shape) < 0.3] = -np.inf
        table[(0,) * table.ndim] = 0.0  # one combination always stays possible
    check(DOMAIN, potentials)


def test_a_rare_state_is_not_lost_when_another_table_favours_it():
    # Seen from {b, c} alone state b=1 has weight e^-2000; the table over {a, b} makes it the only likely one.
    domain = Domain(tuple("abc"), (2, 2, 2))
    check(
        domain,
        {("a", "b"): np.array([[0.0, 4000.0], [0.0, 4001.0]]), ("b", "c"): np.array([[0.0, 1.0], [-2000.0, -2001.0]])},
    )


def test_everything_ruled_out():
    domain = Domain(tuple("ab"), (2, 2))
    inference = BeliefPropagation(junction_tree(domain, [("a", "b")]), [("a", "b")])
    log_z, mu = inference(np.full(4, -np.inf))
    assert log_z == -np.inf
    assert not mu.any()


def test_the_compiled_exponential_has_thirteen_digits():
    from kagemusha.graphical.kernels import run
    from kagemusha.graphical.program import ProgramWriter

    values = np.concatenate([np.linspace(-700, 0, 4001), [-1e-300, -1e-9, -0.34657, -0.346573591]])
    domain = Domain(("x",), (len(values),))
    writer = ProgramWriter(domain)
    table, message, inverse = writer.table(("x",)), writer.table(()), writer.table(())
    writer.log_sum_exp(table, message, inverse, separator_last=False)
    buffer = np.zeros(writer.length)
    buffer[: len(values)] = values
    run(writer.finish(), buffer)
    expected = np.exp(values)
    assert buffer[inverse.start] == pytest.approx(1 / expected.sum(), rel=1e-13)
    np.testing.assert_allclose(buffer[: len(values)], expected, rtol=1e-13)


def test_pack_and_unpack_are_inverse():
    potentials = random_potentials(CLIQUE_SETS["triples"], 1.0, seed=1)
    inference = BeliefPropagation(junction_tree(DOMAIN, potentials), potentials)
    for clique, table in zip(potentials, inference.unpack(inference.pack(potentials)), strict=True):
        np.testing.assert_array_equal(table, potentials[clique])


def test_a_clique_outside_the_tree_is_refused():
    with pytest.raises(ValueError, match="not inside"):
        BeliefPropagation(junction_tree(DOMAIN, [("a", "b")]), [("a", "d")])


def test_parts_of_the_kernel_exist_once():
    """A part that is compiled by itself as well as within `run` has other digits there: the first process differs."""
    from kagemusha.graphical import kernels

    parts = [kernels._exp, kernels._log_sum_exp, kernels._walk]
    assert all(part.targetoptions["inline"] == "always" for part in parts)
    assert kernels.run.targetoptions["fastmath"]
