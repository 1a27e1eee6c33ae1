from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kagemusha.graphical import MarkovField, sample_iid, sample_rounded
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN, random_potentials

SAMPLERS = [sample_rounded, sample_iid]


def counts(domain, codes, clique):
    table = np.zeros(domain.shape(clique))
    np.add.at(table, tuple(codes[:, domain.axis(n)] for n in clique), 1)
    return table


def field(name, scale=1.0, rows=1):
    return MarkovField.build(DOMAIN, rows, random_potentials(CLIQUE_SETS[name], scale, seed=11))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", CLIQUE_SETS)
def test_every_pair_comes_out_as_the_model_says(name, sampler):
    rows = 40_000
    model = field(name, rows=rows)
    codes = sampler(model, rows, rng=np.random.default_rng(0))
    assert codes.shape == (rows, len(DOMAIN))
    assert codes.dtype == np.int64
    for clique in combinations(DOMAIN.names, 2):
        expected = model.project(clique)
        z = (counts(DOMAIN, codes, clique) - expected) / np.sqrt(expected + 1)
        assert np.abs(z).max() < 5


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_siblings_of_one_parent_stay_independent(sampler):
    """B ← A → C: dealt in the same order within a group of A, B and C would be almost equal."""
    domain = Domain(("a", "b", "c"), (2, 4, 4))
    model = MarkovField.build(domain, 20_000, random_potentials([("a", "b"), ("a", "c")], 0.3, 0, domain))
    codes = sampler(model, 20_000, rng=np.random.default_rng(1))
    error = np.abs(counts(domain, codes, ("b", "c")) - model.project(("b", "c"))).sum() / 20_000
    assert error < 0.03


def test_rows_in_the_order_given_are_exchangeable():
    model = field("chain", rows=20_000)
    codes = sample_rounded(model, 20_000, rng=np.random.default_rng(2))
    half = counts(DOMAIN, codes[:10_000], ("a", "b"))
    assert np.abs(half - model.project(("a", "b")) / 2).sum() / 10_000 < 0.05


def test_rounding_stays_next_to_the_model_and_varies():
    domain = Domain(("a", "b"), (3, 4))
    model = MarkovField.build(domain, 50, random_potentials([("a", "b")], 1.0, 4, domain))
    expected = model.project(("a", "b"))
    rng = np.random.default_rng(3)
    tables = np.array([counts(domain, sample_rounded(model, 50, rng=rng), ("a", "b")) for _ in range(500)])
    assert np.abs(tables - expected).max() < 2.01
    for axis in (1, 2):
        assert np.abs(tables.sum(axis=axis) - expected.sum(axis=axis - 1)).max() < 2.01
    assert np.abs(tables.mean(axis=0) - expected).max() < 0.35
    assert tables.std(axis=0).max() > 0.2


def test_rounding_errors_do_not_add_up_over_groups():
    domain = Domain(("a", "b", "c"), (40, 30, 5))
    cliques = [("a", "b", "c")]
    model = MarkovField.build(domain, 5_000, random_potentials(cliques, 0.5, 4, domain))
    codes = sample_rounded(model, 5_000, rng=np.random.default_rng(0))
    assert np.abs(counts(domain, codes, ("c",)) - model.project(("c",))).max() < 3


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_impossible_rows_never_appear(sampler):
    potentials = random_potentials(CLIQUE_SETS["cycle"], 1.0, seed=3)
    potentials["a", "b"][0, 1:] = -np.inf
    potentials["c", "d"][1, :2] = -np.inf
    model = MarkovField.build(DOMAIN, 1.0, potentials)
    codes = sampler(model, 5_000, rng=np.random.default_rng(0))
    assert not ((codes[:, 0] == 0) & (codes[:, 1] > 0)).any()
    assert not ((codes[:, 2] == 1) & (codes[:, 3] < 2)).any()


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(sampler, rows):
    codes = sampler(field("tree"), rows, rng=np.random.default_rng(0))
    assert codes.shape == (rows, 6)
    assert (codes < np.array(DOMAIN.sizes)).all()


def test_the_generator_decides_everything():
    model = field("tree")
    first, second, third = (sample_rounded(model, 100, rng=np.random.default_rng(s)) for s in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()


def test_negative_rows_are_refused():
    with pytest.raises(ValueError, match="at least 0"):
        sample_iid(field("tree"), -1, rng=np.random.default_rng(0))
