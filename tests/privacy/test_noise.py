"""The samplers draw what they say: the right scale passes, 3 % off does not, and no float hides in the result."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kagemusha.privacy.mechanisms import ExactNoise, Noise, SimulatedNoise

SIGMA = 10.0


def pmf_discrete_gaussian(support: np.ndarray, sigma: float) -> np.ndarray:
    weights = np.exp(-(support**2) / (2 * sigma**2))
    return weights / weights.sum()


def pmf_rounded_gaussian(support: np.ndarray, sigma: float) -> np.ndarray:
    return stats.norm.cdf((support + 0.5) / sigma) - stats.norm.cdf((support - 0.5) / sigma)


def pmf_discrete_laplace(support: np.ndarray, scale: float) -> np.ndarray:
    weights = np.exp(-np.abs(support) / scale)
    return weights / weights.sum()


LAWS = {
    "discrete_gaussian": pmf_discrete_gaussian,
    "rounded_gaussian": pmf_rounded_gaussian,
    "discrete_laplace": pmf_discrete_laplace,
}


def p_value(draws: np.ndarray, law: str, scale: float) -> float:
    """χ² of the draws against a law, cells of small expectation merged into the tails."""
    reach = int(6 * scale) if law != "discrete_laplace" else int(15 * scale)
    support = np.arange(-40 * reach, 40 * reach + 1)
    expected = LAWS[law](support, scale) * len(draws)
    inside = np.flatnonzero(expected >= 20)
    low, high = support[inside[0]], support[inside[-1]]
    observed = np.bincount(np.clip(draws, low - 1, high + 1) - (low - 1), minlength=high - low + 3)
    tails = expected[support < low].sum(), expected[support > high].sum()
    merged = np.concatenate([[tails[0]], expected[inside[0] : inside[-1] + 1], [tails[1]]])
    keep = merged > 1
    merged, observed = merged[keep], observed[keep]
    return float(stats.chisquare(observed, merged * observed.sum() / merged.sum()).pvalue)


def draw(noise: Noise, law: str, scale: float, size: int) -> np.ndarray:
    return np.asarray(getattr(noise, law)(scale, size))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "make", [ExactNoise, lambda: SimulatedNoise(np.random.default_rng(3))], ids=["exact", "simulated"]
)
def test_the_right_law_passes_and_a_wrong_scale_is_rejected(law: str, make) -> None:  # type: ignore[no-untyped-def]
    draws = draw(make(), law, SIGMA, 400_000)
    assert p_value(draws, law, SIGMA) > 1e-9
    assert p_value(draws, law, SIGMA * 1.03) < 1e-9
    assert p_value(draws, law, SIGMA * 0.97) < 1e-9


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_small_scales_keep_their_law(sigma: float) -> None:
    for law in ("discrete_gaussian", "rounded_gaussian"):
        assert p_value(draw(ExactNoise(), law, sigma, 50_000), law, sigma) > 1e-9


@pytest.mark.parametrize("sigma", [1e-3, 1e3, 1e6, 1e9])
def test_the_rounded_gaussian_reaches_every_scale(sigma: float) -> None:
    draws = ExactNoise().rounded_gaussian(sigma, 2000)
    assert draws.dtype == np.int64
    if sigma < 0.01:
        assert not draws.any()
    else:
        assert 0.85 * sigma < draws.std() < 1.15 * sigma


def test_very_wide_noise_leaves_no_digit_bare() -> None:
    draws = ExactNoise().rounded_gaussian(2.0**57, 200)
    assert 0.7 * 2**57 < draws.std() < 1.3 * 2**57
    assert set(draws % 8) == set(range(8))


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1.0, 10.0])
@pytest.mark.parametrize("law", ["discrete_gaussian", "rounded_gaussian"])
def test_a_million_draws_follow_their_law_and_not_one_a_hundredth_wider(law: str, sigma: float) -> None:
    draws = draw(ExactNoise(), law, sigma, 1_000_000)
    assert p_value(draws, law, sigma) > 1e-9
    assert p_value(draws, law, 1.01 * sigma) < 1e-9
    assert p_value(draws, law, sigma / 1.01) < 1e-9


@pytest.mark.parametrize("law", LAWS)
def test_noise_of_either_kind_comes_as_integers(law: str) -> None:
    """The last bits of a float tell on what it was added to; draws that were floats once would show here."""
    for noise in (ExactNoise(), SimulatedNoise(np.random.default_rng(1))):
        for scale in (0.3, 10.0, 1e5):
            assert getattr(noise, law)(scale, 50).dtype == np.int64


@pytest.mark.parametrize(
    "make", [ExactNoise, lambda: SimulatedNoise(np.random.default_rng(5))], ids=["exact", "simulated"]
)
def test_noisy_max_follows_the_exponential_mechanism(make) -> None:  # type: ignore[no-untyped-def]
    scores, scale = np.array([0, 3, 5, 9], dtype=np.int64), 4.0
    noise = make()
    chosen = np.bincount([noise.noisy_max(scores, scale) for _ in range(20_000)], minlength=4)
    for factor, accepted in ((1.0, True), (1.25, False), (0.8, False)):
        weights = np.exp(scores / (scale * factor))
        p = float(stats.chisquare(chosen, weights / weights.sum() * chosen.sum()).pvalue)
        assert (p > 1e-6) == accepted


def test_release_noise_takes_no_seed() -> None:
    with pytest.raises(TypeError):
        ExactNoise(7)  # type: ignore[call-arg]
