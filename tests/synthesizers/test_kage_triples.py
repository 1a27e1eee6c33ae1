"""Kage's second look: triples that pairs cannot tell, what they are given, and what is left for pairs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from family import run, table

from kagemusha.privacy.budget import Budget
from kagemusha.queries.interactions import Interaction, NoisyInteraction, combined
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.kage import rounds
from kagemusha.synthesizers.kage.beliefs import candidate_triples
from kagemusha.synthesizers.kage.choice import Candidates, Choice, choose
from kagemusha.synthesizers.kage.constants import MANY
from kagemusha.synthesizers.kage.interaction_fit import NoisyColumn, fit_interactions
from kagemusha.synthesizers.registry import create

DOMAIN = Domain(("a", "b", "c", "d"), (2, 2, 2, 3))


def exclusive_or(rows: int) -> np.ndarray:
    """c = a xor b: every pair of columns is independent, the triple is fixed."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, rows))
    return np.stack([a, b, a ^ b, rng.integers(0, 3, rows)], 1)


def triple_error(generator, codes: np.ndarray) -> float:
    real = np.zeros((2, 2, 2))
    np.add.at(real, tuple(codes[:, :3].T), 1 / len(codes))
    return float(np.abs(generator.project(("a", "b", "c")) / generator.total - real).sum())


def weakly_paired(rows: int) -> np.ndarray:
    """Exclusive or, and d tells a little about a: there is a pair to measure."""
    codes = exclusive_or(rows)
    rng = np.random.default_rng(1)
    codes[:, 3] = np.where(rng.random(rows) < 0.5, codes[:, 0], codes[:, 3])
    return codes


@pytest.mark.parametrize("made", [exclusive_or, weakly_paired])
def test_what_only_a_triple_tells_is_found(made, monkeypatch) -> None:
    codes = made(40_000)
    result = run(create("kage"), DOMAIN, codes, Budget(1.0, 1e-9))
    assert ("a", "b", "c") in [m.query.clique for m in result.fitted.interactions]
    assert triple_error(result.fitted.generator, codes) < 0.02
    monkeypatch.setattr(rounds, "TRIPLES", 0.0)
    pairs_only = run(create("kage"), DOMAIN, codes, Budget(1.0, 1e-9)).fitted
    assert triple_error(pairs_only.generator, codes) > 0.9


def test_a_named_target_does_not_switch_triples_off() -> None:
    """Whether pairs are precise is about their errors, not about how much some of them count."""
    codes = weakly_paired(40_000)
    plain, named = (
        run(create("kage", **options), DOMAIN, codes, Budget(1.0, 1e-9)).fitted
        for options in ({}, {"target": "d", "emphasis": 50.0})
    )
    for fitted in (plain, named):
        assert ("a", "b", "c") in [m.query.clique for m in fitted.interactions]


def nothing_to_find(rows: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, DOMAIN.sizes, (rows, 4))


@pytest.mark.parametrize("made", [exclusive_or, weakly_paired, nothing_to_find])
def test_the_second_look_spends_the_budget_and_no_more(made) -> None:
    result = run(create("kage"), DOMAIN, made(40_000), Budget(1.0, 1e-9))
    assert any(len(clique) == 3 for read in result.spy.reads for clique in read.cliques)
    spent = sum(float(event.rho or 0) for event in result.spy.charged)
    assert spent == pytest.approx(result.budget_filter.total, rel=1e-6)
    for read in result.spy.reads:
        assert read.charged > 0


def test_where_pairs_are_noisy_triples_are_not_looked_at() -> None:
    domain = Domain(tuple("abcd"), (4, 3, 5, 2))
    result = run(create("kage"), domain, table(domain, 500, 0), Budget(0.5, 1e-9))
    assert not any(len(clique) == 3 for read in result.spy.reads for clique in read.cliques)


def test_two_measurements_are_worth_one_at_the_sum_of_their_costs() -> None:
    query = Interaction(("a", "b"), (np.arange(2), np.arange(2)))
    rng = np.random.default_rng(0)
    sigmas = 3.0, 4.0
    both = combined(*(NoisyInteraction(query, rng.normal(0, s, (50_000,)), s) for s in sigmas))
    assert both.sigma**-2 == pytest.approx(sum(s**-2 for s in sigmas))
    assert both.values.std() == pytest.approx(both.sigma, rel=0.02)


def test_a_fit_to_exact_interactions_of_pairs_and_triples_is_the_table() -> None:
    rng = np.random.default_rng(0)
    domain = Domain(("a", "b", "c"), (2, 3, 4))
    counts = rng.integers(100, 900, domain.sizes)
    total = float(counts.sum())

    def margin(clique: tuple[str, ...]) -> np.ndarray:
        return counts.sum(axis=tuple(i for i, name in enumerate(domain.names) if name not in clique))

    columns = [NoisyColumn(n, margin((n,)).astype(float), 1e-3, margin((n,)).astype(float)) for n in domain]
    interactions = []
    for size in (2, 3):
        for clique in combinations(domain.names, size):
            values = margin(clique).astype(float)
            for axis in range(size):
                values = values - values.mean(axis=axis, keepdims=True)
            query = Interaction(clique, tuple(np.arange(n) for n in domain.shape(clique)))
            interactions.append(NoisyInteraction(query, values, 1e-3))
    pairs = fit_interactions(domain, columns, interactions[:3], total, max_cells=1000, max_steps=3000)
    whole = fit_interactions(domain, columns, interactions, total, max_cells=1000, max_steps=3000, start=pairs.theta)
    afresh = fit_interactions(domain, columns, interactions, total, max_cells=1000, max_steps=3000)
    np.testing.assert_allclose(whole.field.project(domain.names), counts, rtol=0.02)
    np.testing.assert_allclose(whole.field.project(domain.names), afresh.field.project(domain.names), rtol=0.02)
    np.testing.assert_allclose(pairs.field.project(("a", "c")), margin(("a", "c")), rtol=0.02)
    assert np.abs(pairs.field.project(domain.names) - counts).sum() > 0.1 * total, "three columns need the triple"


PAIRS, TRIPLES = list(combinations("abcd", 2)), list(combinations("abcd", 3))


def chosen(errors: list[float], *, noise: float = 1.0, importance=(1, 1, 1, 1), add=lambda _: True) -> Choice:
    """All pairs are measured; triples are this far from the model of them."""
    unknown = np.array([*[0.0] * 6, *errors])
    none, ones = np.zeros(10), np.ones(10)
    candidates = Candidates(
        [*PAIRS, *TRIPLES],
        signal=unknown,
        unknown=unknown,
        strength=none,
        weights=ones,
        columns=none,
        importance=np.array([1.0] * 6 + list(importance)),
        floor=none,
        rest=none,
        noise=noise,
        before=0.5,
        alone=1.0,
    )
    return choose(candidates, lambda _: add, [1000], start=range(6))


def test_strong_triples_are_chosen_and_share_what_is_left_with_pairs() -> None:
    choice = chosen([1000, 0, 800, 0])
    assert choice.taken == (*range(6), 6, 8)
    assert sum(choice.shares) + choice.columns == pytest.approx(1)
    assert min(choice.shares) > 0
    assert chosen([1000, 0, 800, 0], add=lambda t: t != ("a", "b", "c")).taken == (*range(6), 8)


def test_triples_that_count_more_get_more() -> None:
    choice = chosen([1000, 900, 0, 0], importance=(1, 4, 1, 1))
    assert choice.taken == (*range(6), 7, 6)
    assert choice.shares[6] > 2 * choice.shares[7]


@pytest.mark.parametrize("max_cells", [40, 100, 1000])
def test_triples_never_outgrow_the_model_limit(max_cells: int) -> None:
    domain = Domain(tuple("abcdef"), (4, 3, 5, 2, 3, 4))
    codes = table(domain, 20_000, 0)
    fitted = run(create("kage", max_cells=max_cells), domain, codes, Budget(50.0, 1e-9)).fitted
    assert fitted.generator.field.tree.cells <= max_cells


def test_pairs_get_everything_where_triples_drown_in_noise() -> None:
    assert chosen([10, 5, 8, 3], noise=100.0).taken == tuple(range(6))


def noisy_chain(rows: int) -> np.ndarray:
    """Pairs say everything, but what is measured of them is noisy."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.7, a, 1 - a)
    return np.stack([a, b, np.where(rng.random(rows) < 0.7, b, 1 - b), rng.integers(0, 3, rows)], 1)


def test_error_that_noisy_pairs_explain_is_not_put_down_to_the_triple(monkeypatch) -> None:
    monkeypatch.setattr(rounds, "TRIPLES", 0.3)
    found = [run(create("kage"), DOMAIN, noisy_chain(3000), Budget(0.3, 1e-9), seed=s).fitted for s in range(5)]
    triples = sum(len(m.query.clique) == 3 for fitted in found for m in fitted.interactions)
    assert triples <= 3, "of twenty"


def test_too_many_triples_leave_those_with_the_strongest_pairs() -> None:
    domain = Domain(tuple(f"x{i:02}" for i in range(20)), (3,) * 20)
    assert math.comb(20, 3) > MANY
    strengths = {pair: float(pair == ("x18", "x19")) for pair in combinations(domain.names, 2)}
    triples = candidate_triples(domain, strengths)
    assert len(triples) == MANY
    assert all({"x18", "x19"} <= set(t) for t in triples[:18])
    assert candidate_triples(Domain(("a", "b", "c"), (2, 1, 2)), {}) == []
    assert candidate_triples(Domain(("a", "b", "c"), (200, 200, 200)), {}) == []


def test_no_column_is_out_of_reach_because_it_comes_late() -> None:
    domain = Domain(tuple(f"x{i:03}" for i in range(150)), (2,) * 150)
    strengths = {("x147", "x148"): 5.0, ("x147", "x149"): 5.0, ("x148", "x149"): 5.0}
    assert candidate_triples(domain, strengths)[0] == ("x147", "x148", "x149")
