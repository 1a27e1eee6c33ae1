"""Pairs the model has no room for: found by what it gets wrong, corrected, and rows traded towards them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from family import run

from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import MarkovField, refined_sampling, sample_rounded
from kagemusha.graphical.refined_sampling import trade_towards
from kagemusha.privacy.budget import Budget
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.kage.interaction_fit import corrected
from kagemusha.synthesizers.registry import create

DOMAIN = Domain(tuple("abcdef"), (4,) * 6)


def dense(rows: int) -> np.ndarray:
    """Two hidden numbers move all columns: every pair depends, and no small tree holds them all."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(rows, 2))
    values = hidden @ rng.normal(size=(2, 6)) + 0.7 * rng.normal(size=(rows, 6))
    return np.clip(np.floor(values + 2), 0, 3).astype(np.int64)


def share(codes: np.ndarray, pair: tuple[str, str]) -> np.ndarray:
    table = np.zeros((4, 4))
    np.add.at(table, tuple(codes[:, DOMAIN.axis(name)] for name in pair), 1 / len(codes))
    return table


def error(codes: np.ndarray, others: np.ndarray) -> float:
    pairs = combinations(DOMAIN.names, 2)
    return float(np.mean([np.abs(share(codes, p) - share(others, p)).sum() for p in pairs]))


def test_a_small_tree_is_made_up_for_by_traded_rows() -> None:
    codes = dense(100_000)
    fitted = run(create("kage", max_cells=200), DOMAIN, codes, Budget(10.0, 1e-9)).fitted
    generator = fitted.generator
    assert isinstance(generator, MarkovGenerator)
    assert generator.field.tree.cells <= 200
    assert generator.pairs, "pairs were measured that the tree has no room for"
    plain = MarkovGenerator(generator.field, generator.hidden)
    rng = np.random.default_rng(0)
    with_pairs, without = (error(codes, g.sample(50_000, rng=rng)) for g in (generator, plain))
    assert with_pairs < 0.5 * without
    for pair, table in generator.pairs.items():
        np.testing.assert_allclose(generator.project(pair[::-1]), table.T)
        assert table.sum() == np.float64(table.sum()) > 0
    meta, arrays = generator.to_arrays()
    again = MarkovGenerator.from_arrays(meta, arrays)
    assert list(again.pairs) == list(generator.pairs)
    (call,) = again.hands([20_000], rng=rng)
    assert error(codes, call()) < 0.6 * without, "rows that are dealt in hands are traded, too"


def test_the_last_pass_brings_columns_back_that_many_pairs_took_along(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 20_000
    field = MarkovField.build(DOMAIN, rows, {(name,): np.zeros(4) for name in DOMAIN.names})
    tilted = np.outer(*[np.array([0.28, 0.25, 0.25, 0.22])] * 2) * rows + np.diag([500.0] * 4) - 125
    found = []
    for heavy in (refined_sampling.LAST_WEIGHT, refined_sampling.COLUMN_WEIGHT):
        monkeypatch.setattr(refined_sampling, "LAST_WEIGHT", heavy)
        codes = sample_rounded(field, rows, rng=np.random.default_rng(0))
        trade_towards(field, codes, dict.fromkeys(combinations(DOMAIN.names, 2), tilted), rng=np.random.default_rng(1))
        columns = np.mean([np.abs(np.bincount(column, minlength=4) / rows - 0.25).sum() for column in codes.T])
        pairs = np.mean([np.abs(share(codes, p) - tilted / rows).sum() for p in combinations(DOMAIN.names, 2)])
        found.append((columns, pairs))
    assert found[0][0] < 0.5 * found[1][0]
    assert found[0][1] < 0.7 * np.abs(tilted / rows - 1 / 16).sum(), "pairs stay traded"


def test_correction_moves_to_what_was_measured_as_far_as_noise_allows() -> None:
    rng = np.random.default_rng(0)
    domain = Domain(("a", "b"), (6, 5))
    truth = rng.dirichlet(np.full(30, 2.0)).reshape(6, 5) * 10_000
    columns = truth.sum(axis=1), truth.sum(axis=0)
    field = MarkovField.build(domain, 10_000, {("a",): np.log(columns[0]), ("b",): np.log(columns[1])})
    query = Interaction(("a", "b"), (np.arange(6), np.arange(5)))
    before = np.abs(field.project(("a", "b")) - truth).sum()

    def found(sigma: float) -> np.ndarray:
        exact = truth - truth.mean(axis=0) - truth.mean(axis=1, keepdims=True) + truth.mean()
        noisy = NoisyInteraction(query, exact + rng.normal(0, sigma, truth.shape), sigma)
        return corrected(MarkovGenerator(field), [noisy]).get(("a", "b"), field.project(("a", "b")))

    np.testing.assert_allclose(found(1e-6), truth, rtol=1e-3, atol=1)
    for sigma in (10.0, 100.0):
        now = np.mean([np.abs(found(sigma) - truth).sum() for _ in range(20)])
        raw = 0.8 * sigma * truth.size
        assert now < min(before, raw), "nearer than the model alone and than the measurement alone"
    np.testing.assert_allclose(found(10.0).sum(axis=1), columns[0], rtol=1e-3)


def test_trades_keep_to_rows_the_model_can_make() -> None:
    domain = Domain(("a", "b", "c"), (3, 3, 3))
    never = np.zeros((3, 3))
    never[0, 0] = -np.inf
    field = MarkovField.build(domain, 5_000, {("a", "b"): never, ("c",): np.zeros(3)})
    rng = np.random.default_rng(0)
    codes = sample_rounded(field, 5_000, rng=rng)
    wanted = np.full((3, 3), 100.0) + np.diag([1_000.0] * 3)
    wanted *= 5_000 / wanted.sum()
    trade_towards(field, codes, {("a", "c"): wanted}, rng=rng)
    assert not ((codes[:, 0] == 0) & (codes[:, 1] == 0)).any()
    assert (codes[:, 0] == codes[:, 2]).mean() > 0.6, "a third without trades"


def test_a_marginal_that_cannot_be_computed_is_counted(monkeypatch) -> None:
    import kagemusha.graphical.markov_field as module

    monkeypatch.setattr(module, "QUERY_CELLS", 10)
    monkeypatch.setattr(module, "DRAWN", 200_000)
    rng = np.random.default_rng(0)
    chain = {
        ("a", "b"): rng.normal(size=(4, 4)),
        ("b", "c"): rng.normal(size=(4, 4)),
        ("c", "d"): rng.normal(size=(4, 4)),
    }
    domain = Domain(tuple("abcd"), (4,) * 4)
    field = MarkovField.build(domain, 100.0, chain)
    joint = np.exp(sum(t.reshape([4 if n in c else 1 for n in "abcd"]) for c, t in chain.items()))
    exact = 100 * joint.sum(axis=(1, 2)) / joint.sum()
    found = field.project_many([("a", "d"), ("a", "b")])
    np.testing.assert_allclose(found[0], exact, atol=0.6)
    assert np.abs(found[0] - exact).max() > 1e-9, "counted from rows"
    np.testing.assert_allclose(found[1], 100 * joint.sum(axis=(2, 3)) / joint.sum())


def test_the_grown_tree_keeps_within_the_limit() -> None:
    for max_cells in (100, 200, 1_000):
        fitted = run(create("kage", max_cells=max_cells), DOMAIN, dense(50_000), Budget(10.0, 1e-9)).fitted
        tree = fitted.generator.field.tree
        assert tree.cells <= max_cells
