from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.graphical import MarkovField, Measurement, estimate, estimate_total
from kagemusha.graphical.estimation import merge
from kagemusha.schema.domain import Domain

from .brute_force import CLIQUE_SETS, DOMAIN, joint, marginal, random_potentials

SMALL = Domain(tuple("abc"), (2, 3, 2))


def measure(domain, table, cliques, sigma, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Measurement(c, marginal(domain, table, c) + sigma * rng.normal(size=domain.shape(c)), sigma) for c in cliques
    ]


def loss_of(measurements, project):
    return sum(((project(m.clique) - m.values) ** 2).sum() / m.sigma**2 for m in measurements)


def truth(cliques, total=1000.0, domain=DOMAIN, scale=1.0):
    _, table = joint(domain, random_potentials(cliques, scale, 17, domain))
    return total * table


@pytest.mark.parametrize("name", [n for n in CLIQUE_SETS if n != "empty"])
def test_exact_marginals_are_reproduced(name):
    cliques = CLIQUE_SETS[name]
    table = truth(cliques)
    found = estimate(DOMAIN, measure(DOMAIN, table, cliques, 0.0), tolerance=1e-6, max_steps=5000).model
    assert found.total == pytest.approx(1000)
    for clique in cliques:
        np.testing.assert_allclose(found.project(clique), marginal(DOMAIN, table, clique), atol=0.5)


def test_no_measurement_at_all_is_uniform():
    found = estimate(DOMAIN, [], total=60)
    np.testing.assert_allclose(found.model.project(("a", "b")), np.full((3, 4), 5.0))
    assert found.converged


@pytest.mark.parametrize("sigma", [1.0, 30.0])
@pytest.mark.parametrize("name", ["cycle", "nested"])
def test_the_minimum_is_the_minimum(name, sigma):
    """Against a general-purpose solver over the whole joint table."""
    cliques = {"cycle": [("a", "b"), ("b", "c"), ("a", "c")], "nested": [("a", "b"), ("a",), ("b", "c")]}[name]
    measurements = measure(SMALL, truth(cliques, 200.0, SMALL), cliques, sigma, seed=4)
    found = estimate(SMALL, measurements, total=200, stop_at_least_risk=False, tolerance=1e-9, max_steps=20_000)

    def objective(z):
        p = np.exp(z - z.max())
        p = 200 * (p / p.sum()).reshape(SMALL.sizes)
        return loss_of(measurements, lambda c: marginal(SMALL, p, c))

    best = min(
        minimize(
            objective,
            np.random.default_rng(s).normal(size=12),
            method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 10**6},
        ).fun
        for s in range(2)
    )
    assert found.loss <= best * 1.001 + 1e-3
    assert found.loss == pytest.approx(loss_of(measurements, found.model.project), rel=1e-6)


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 3.0, 100.0, 3e4])
@pytest.mark.parametrize("by_risk", [True, False])
def test_it_ends_at_every_noise_level(sigma, by_risk):
    cliques = list(combinations("abcd", 2))
    table = truth(cliques, scale=2.0)
    found = estimate(DOMAIN, measure(DOMAIN, table, cliques, sigma), stop_at_least_risk=by_risk, max_steps=3000)
    assert found.steps <= 3001
    assert np.isfinite(found.loss)
    assert found.model.project(("a", "d")).min() >= 0
    assert found.model.project(("a", "d")).sum() == pytest.approx(found.model.total)


def test_stopping_at_least_risk_is_nearer_to_the_truth_when_noise_is_large():
    cliques = list(combinations("abcd", 2))
    table = truth(cliques, scale=0.5)
    gains = []
    for seed in range(5):
        measurements = measure(DOMAIN, table, cliques, 40.0, seed)
        errors = [
            sum(
                np.abs(
                    estimate(DOMAIN, measurements, total=1000, stop_at_least_risk=r).model.project(c)
                    - marginal(DOMAIN, table, c)
                ).sum()
                for c in cliques
            )
            for r in (True, False)
        ]
        gains.append(errors[0] / errors[1])
    assert np.mean(gains) < 0.95


def test_deterministic():
    measurements = measure(DOMAIN, truth(CLIQUE_SETS["cycle"]), CLIQUE_SETS["cycle"], 5.0)
    first, second = (estimate(DOMAIN, measurements) for _ in range(2))
    for clique, table in first.model.potentials.items():
        np.testing.assert_array_equal(table, second.model.potentials[clique])
    assert first.losses == second.losses


def test_printed_weights_are_those_of_the_paper():
    """Σ ‖p − y‖²/σ, each repeated measurement with its own term, against a general-purpose solver."""
    cliques = [("a", "b"), ("b", "c"), ("a", "b")]
    table = truth(cliques[:2], 200.0, SMALL)
    measurements = [
        measure(SMALL, table, [c], s, seed=i)[0]
        for i, (c, s) in enumerate(zip(cliques, (3.0, 12.0, 20.0), strict=True))
    ]
    settings = {"total": 200, "stop_at_least_risk": False, "tolerance": 1e-9, "max_steps": 20_000}
    found = estimate(SMALL, measurements, power=1, **settings).model

    def objective(z):
        p = np.exp(z - z.max())
        p = (200 * p / p.sum()).reshape(SMALL.sizes)
        return sum(((marginal(SMALL, p, m.clique) - m.values) ** 2).sum() / m.sigma for m in measurements)

    best = min(minimize(objective, np.random.default_rng(s).normal(size=12), method="BFGS").fun for s in range(3))
    reached = sum(((found.project(m.clique) - m.values) ** 2).sum() / m.sigma for m in measurements)
    assert reached == pytest.approx(best, rel=1e-3)
    other = estimate(SMALL, measurements, **settings).model
    assert sum(((other.project(m.clique) - m.values) ** 2).sum() / m.sigma for m in measurements) > 1.01 * best


def test_repeated_measurements_count_by_inverse_variance():
    a = Measurement(("a",), np.array([10.0, 0.0, 2.0]), 1.0)
    b = Measurement(("a",), np.array([20.0, 5.0, 2.0]), 2.0)
    merged = merge(DOMAIN, [a, b])["a",]
    np.testing.assert_allclose(merged.values, [12.0, 1.0, 2.0])
    assert merged.sigma == pytest.approx((1 + 1 / 4) ** -0.5)


def test_total_is_the_minimum_variance_combination():
    ones = Measurement(("a",), np.full(3, 10.0), 2.0)  # sum 30, variance 12
    pairs = Measurement(("a", "b"), np.full((3, 4), 3.0), 1.0)  # sum 36, variance 12
    assert estimate_total([ones, pairs]) == pytest.approx(33)
    assert estimate_total([Measurement(("a",), np.full(3, -10.0), 2.0)]) == 1.0
    assert estimate_total([]) == 1.0
    assert estimate(DOMAIN, [ones], total=500).model.total == 500


def test_warm_start_loses_nothing_under_a_new_triangulation():
    cliques = CLIQUE_SETS["chain"]
    table = truth([*cliques, ("a", "f")])
    measurements = measure(DOMAIN, table, cliques, 1.0)
    first = estimate(DOMAIN, measurements, total=1000, tolerance=1e-4)
    again = estimate(DOMAIN, measurements, total=1000, warm_start=first.model)
    assert again.losses[0] == pytest.approx(first.loss, rel=1e-6)
    measurements += measure(DOMAIN, table, [("a", "f")], 1.0)
    cold = estimate(DOMAIN, measurements, total=1000)
    warm = estimate(DOMAIN, measurements, total=1000, warm_start=first.model)
    assert warm.losses[0] < cold.losses[0]
    assert warm.loss < 1.5 * cold.loss + 10


def test_warm_start_from_a_loaded_model():
    measurements = measure(DOMAIN, truth(CLIQUE_SETS["chain"]), CLIQUE_SETS["chain"], 1.0)
    model = MarkovField.from_arrays(*estimate(DOMAIN, measurements).model.to_arrays())
    assert np.isfinite(estimate(DOMAIN, measurements, warm_start=model).loss)


def test_structural_zeros_hold_exactly_and_stay():
    table = truth([("a", "b"), ("b", "c")])
    mask = np.zeros((3, 4), dtype=bool)
    mask[0, 1:] = True
    other = np.zeros((2, 5), dtype=bool)
    other[1, 3] = True
    measurements = measure(DOMAIN, table, [("a", "b"), ("b", "c")], 2.0)
    zeros = [(("a", "b"), mask), (("c", "d"), other)]
    model = estimate(DOMAIN, measurements, structural_zeros=zeros).model
    assert not model.project(("a", "b"))[mask].any()
    assert model.project(("c", "d"))[1, 3] == 0
    again = estimate(DOMAIN, measurements, structural_zeros=zeros, warm_start=model).model
    assert not again.project(("a", "b"))[mask].any()
    lifted = estimate(DOMAIN, measurements, warm_start=model).model
    assert lifted.project(("a", "b"))[mask].all()


def test_structural_zeros_of_one_clique_add_up():
    first, second = np.zeros((2, 3, 4), dtype=bool)
    first[0, 0], second[2, 3] = True, True
    zeros = [(("a", "b"), first), (("a", "b"), second)]
    table = estimate(DOMAIN, [], total=10, structural_zeros=zeros).model.project(("a", "b"))
    np.testing.assert_array_equal(table == 0, first | second)
    with pytest.raises(ValueError, match="structural zeros over"):
        estimate(DOMAIN, [], total=10, structural_zeros=[(("b", "a"), first.T)])


def test_progress_is_told():
    seen = []
    estimate(
        DOMAIN,
        measure(DOMAIN, truth([("a", "b")]), [("a", "b")], 5.0),
        progress=lambda step, loss: seen.append((step, loss)),
    )
    assert seen == sorted(seen)
    assert len(seen) > 3


def test_too_large_is_refused_before_any_work():
    domain = Domain(tuple("abc"), (1000, 1000, 1000))
    pairs = [Measurement(c, np.broadcast_to(np.float64(1), (1000, 1000)), 1.0) for c in combinations("abc", 2)]
    with pytest.raises(ModelTooLarge, match=r"a, b, c"):
        estimate(domain, pairs)


@pytest.mark.parametrize(
    ("clique", "values", "sigma", "message"),
    [
        (("a",), np.zeros((3, 1)), 1.0, "1 axes"),
        (("a",), np.zeros(3), -1.0, "sigma"),
        (("a",), np.zeros(3), float("nan"), "sigma"),
        (("b", "a"), np.zeros((4, 3)), 1.0, "domain order"),
        (("a",), np.zeros(4), 1.0, "shape"),
        (("a",), np.array([0, np.nan, 1]), 1.0, "not finite"),
    ],
)
def test_bad_measurements(clique, values, sigma, message):
    with pytest.raises(ValueError, match=message):
        estimate(DOMAIN, [Measurement(clique, values, sigma)])


def test_zeros_that_leave_nothing_are_refused():
    with pytest.raises(UsageError, match="rule out every row"):
        estimate(DOMAIN, [], total=10, structural_zeros=[(("a",), np.ones(3, dtype=bool))])
