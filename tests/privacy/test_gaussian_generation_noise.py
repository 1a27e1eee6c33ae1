"""Counting generation randomness beside explicit noise: sound where it can be computed, and useful."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kagemusha.errors import UsageError
from kagemusha.privacy.generation.gaussian import GaussianGeneration
from kagemusha.privacy.generation.noise import NoisyGeneration

BIG = {"n": 10**7, "d": 6, "sigma": 0.01}


def test_less_noise_is_needed_and_the_target_is_met():
    mechanism = NoisyGeneration(m=10**7, **BIG)
    result = mechanism.solve(2.0, 1e-5)
    assert 0 < result.counted < result.ignored_exact < result.ignored
    assert mechanism.epsilon(result.counted, 1e-5) <= 2.0
    assert mechanism.epsilon(result.counted * 0.999, 1e-5) > 2.0
    assert result.saving == pytest.approx(1 - result.counted / result.ignored)
    assert 0.4 < result.saving_over_exact < 0.6


def test_no_noise_is_needed_when_the_draws_are_enough():
    result = NoisyGeneration(m=10**6, **BIG).solve(1.0, 1e-5)
    assert result.counted == 0
    assert result.saving == 1
    assert GaussianGeneration(m=10**6, method="floor", **BIG).epsilon(1e-5).epsilon <= 1


def test_without_noise_it_is_the_floored_generator():
    for adjacency in ("add-remove", "replace"):
        floor = GaussianGeneration(m=100, adjacency=adjacency, method="floor", **BIG)
        noisy = NoisyGeneration(m=100, adjacency=adjacency, **BIG)
        assert noisy.rdp(7.0, 0.0) == pytest.approx(floor.rdp(7.0), rel=1e-9)


def test_counting_never_costs_more_than_ignoring():
    rng = np.random.default_rng(1)
    for _ in range(500):
        mechanism = NoisyGeneration(
            n=int(10 ** rng.uniform(0, 9)) + 1,
            d=int(rng.integers(1, 30)),
            sigma=float(10 ** rng.uniform(-4, 0)),
            m=int(10 ** rng.uniform(0, 9)),
        )
        alpha, noise = 1 + 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-3, 3)
        assert mechanism.rdp(alpha, noise) <= alpha / (2 * noise**2) * (1 + 1e-12)


def test_more_records_released_save_less():
    counted = [NoisyGeneration(m=m, **BIG).solve(0.5, 1e-5).counted for m in (10**6, 3 * 10**6, 10**7, 10**9)]
    assert counted == sorted(counted)
    assert counted[-1] <= NoisyGeneration(m=1, **BIG).solve(0.5, 1e-5).ignored


def test_the_harmonic_split_is_exact_for_a_noised_mean_alone():
    """Rows from N(μ + z, σ) with one shared z are jointly Gaussian, so the divergence is known."""
    alpha, gap, sigma, s, m = 3.0, 0.01, 0.2, 0.05, 40
    noise, draws = alpha * gap**2 / (2 * s**2), m * alpha * gap**2 / (2 * sigma)
    exact = alpha / 2 * m * gap**2 / (sigma + m * s**2)
    share = noise / (noise + draws)
    assert noise * (1 - share) ** 2 + draws * share**2 == pytest.approx(exact, rel=1e-12)


def mixture(grid, variances, mean, variance, mean_noise, variance_noise, floor):
    """Density of one record in one dimension: noise on mean and variance integrated, the floor applied."""
    weights = np.exp(-(((variances - variance) / variance_noise) ** 2) / 2)
    spread = np.maximum(floor, variances) + mean_noise**2
    density = np.exp(-((grid[:, None] - mean) ** 2) / (2 * spread)) / np.sqrt(2 * np.pi * spread)
    return density @ (weights / weights.sum())


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [1.5, 3.0, 8.0])
def test_one_record_in_one_dimension_stays_below_the_bound(multiplier, alpha):
    n, floor = 60, 0.3
    mechanism = NoisyGeneration(n=n, d=1, sigma=floor, m=1, mean_budget=0.5)
    mean_gap, variance_gap = mechanism.sensitivities()
    mean_noise, variance_noise = (multiplier * s / math.sqrt(0.5) for s in (mean_gap, variance_gap))
    grid = np.linspace(-9, 9, 1501)
    for shared, x in ((np.array([-1.0, 1.0]), 1.0), (np.array([-1.0, -1.0, -1.0, 0.5]), 1.0)):
        mean, variance = shared.mean(), shared.var()
        joined_mean = mean + (x - mean) / (n + 1)
        joined_variance = n / (n + 1) * variance + n / (n + 1) ** 2 * (x - mean) ** 2
        # one grid of noisy variances for both, so that the noise still hides the difference
        variances = variance + variance_noise * np.linspace(-12, 12, 1001)
        p = mixture(grid, variances, mean, variance, mean_noise, variance_noise, floor)
        q = mixture(grid, variances, joined_mean, joined_variance, mean_noise, variance_noise, floor)
        for top, bottom in ((p, q), (q, p)):
            divergence = math.log(np.trapezoid(bottom * (top / bottom) ** alpha, grid)) / (alpha - 1)
            assert divergence <= mechanism.rdp(alpha, multiplier)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_sensitivities_hold_for_random_neighbours_and_are_nearly_reached(adjacency):
    from gaussian_closed_form import extreme_record, fit, records

    rng = np.random.default_rng(4)
    reached = 0.0
    for _ in range(2000):
        d, n = int(rng.integers(1, 6)), int(rng.integers(3, 30))
        shared = records(rng, n, d) if rng.uniform() < 0.5 else np.tile(rng.choice([-1.0, 1.0], d), (n, 1))
        x, y = (extreme_record(rng, shared.mean(axis=0)) for _ in range(2))
        if adjacency == "add-remove":
            first, second, size = shared, np.vstack([shared, x]), n
        else:
            first, second, size = np.vstack([shared, y]), np.vstack([shared, x]), n + 1
        (mean1, cov1), (mean2, cov2) = fit(first), fit(second)
        mean, covariance = NoisyGeneration(n=size, d=d, sigma=1.0, m=1, adjacency=adjacency).sensitivities()
        assert np.linalg.norm(mean1 - mean2) <= mean * (1 + 1e-12)
        assert np.linalg.norm(cov1 - cov2) <= covariance * (1 + 1e-12)
        reached = max(reached, np.linalg.norm(cov1 - cov2) / covariance)
    assert reached > 0.9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NoisyGeneration(n=10, d=1, sigma=2.0, m=1), "sigma must be greater than 0 and at most 1"),
        (lambda: NoisyGeneration(n=10, d=1, sigma=0.1, m=1, mean_budget=1.0), "mean_budget must be greater than 0"),
        (lambda: NoisyGeneration(m=1, **BIG).solve(0, 1e-5), "epsilon must be greater than 0 and finite"),
        (lambda: NoisyGeneration(m=1, **BIG).solve(1, 0), "delta must be greater than 0 and less than 1"),
    ],
)
def test_bad_values_are_named(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_the_certificate_text_keeps_the_parameters_secret():
    assert "released to nobody" in NoisyGeneration(m=1, **BIG).assumption()
