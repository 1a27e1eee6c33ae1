"""The privacy-loss route: exact pieces, safe rounding, and one pair that dominates all neighbours."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from kagemusha.privacy.generation.gaussian import GaussianGeneration
from kagemusha.privacy.generation.pld import GaussianPair, ShrinkingPart, WideningPart, dominating_pair, pair_at


def exact_tail(size, edge, lower):
    """A χ² tail with 30 digits."""
    with mp.workdps(30):
        a, x = mp.mpf(size) / 2, mp.mpf(edge) / 2
        steps = [x + (-k if lower else k) * mp.sqrt(a) for k in range(16)]
        steps = sorted(max(t, mp.mpf(0)) for t in steps)
        constant = mp.loggamma(a)
        return float(mp.quad(lambda t: mp.exp((a - 1) * mp.log(t) - t - constant) if t > 0 else mp.mpf(0), steps))


@pytest.mark.parametrize("size", [10**3, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("spreads", [-7.0, -6.0, -4.6, -3.0, 3.0, 6.0])
def test_scipys_chi_square_by_way_of_ncx2_is_good_to_a_billion_degrees(size, spreads):
    from scipy.stats import ncx2

    edge = size + spreads * math.sqrt(2 * size)
    ours = (ncx2.cdf if spreads < 0 else ncx2.sf)(edge, size, 1e-30)
    assert ours == pytest.approx(exact_tail(size, edge, spreads < 0), rel=1e-10)


@pytest.mark.parametrize("size", [10**3, 10**5, 10**7, 10**9])
@pytest.mark.parametrize("spreads", [-5.5, -4.6, 5.0])
@pytest.mark.parametrize("density", [1 / 4, 1 / 2400])
def test_the_noncentral_one_is_one_shifted_coordinate_away(size, spreads, density):
    from scipy.stats import ncx2, norm

    off_centre = size * density
    edge = size + 1 + off_centre + spreads * math.sqrt(2 * size + 4 * off_centre)
    law = ncx2.cdf if spreads < 0 else ncx2.sf
    nodes, weights = np.polynomial.legendre.leggauss(160)
    g = 12 * nodes
    left = edge - (g + math.sqrt(off_centre)) ** 2
    rest = np.where(left > 0, law(np.maximum(left, 0), size, 1e-30), 0.0 if spreads < 0 else 1.0)
    assert law(edge, size + 1, off_centre) == pytest.approx(float(12 * weights @ (norm.pdf(g) * rest)), rel=1e-10)


@pytest.mark.parametrize("backwards", [False, True])
def test_hockey_stick_is_what_sampling_shows(backwards):
    rng = np.random.default_rng(11)
    wide, narrow = WideningPart(40, 0.6, 0.15), ShrinkingPart(80, 0.05)
    pair, epsilon, draws = GaussianPair(wide, narrow), 0.7, 400_000
    first = rng.chisquare(wide.size - 1, draws)
    lead, second = rng.normal(size=draws), rng.chisquare(narrow.size, draws)
    if backwards:
        first, second = first * (1 + wide.widening), second * (1 - narrow.shrinking)
        lead = lead * math.sqrt(1 + wide.widening) + wide.shift
    loss = log_ratio(wide, lead, first) + shrink_log_ratio(narrow, second)
    gain = np.maximum(0, -np.expm1(epsilon - (-loss if backwards else loss)))
    bound = pair._one_direction(epsilon, backwards)
    error = 5 * gain.std() / math.sqrt(draws)
    # pessimistic by at most one cell of the second part
    assert gain.mean() - error <= bound <= 1.05 * gain.mean() + error


def log_ratio(part, lead, rest):
    wide = 1 + part.widening
    squares = lead**2 + rest
    return part.size / 2 * math.log(wide) - squares / 2 + ((lead - part.shift) ** 2 + rest) / (2 * wide)


def shrink_log_ratio(part, squares):
    left = 1 - part.shrinking
    return part.size / 2 * math.log(left) + squares * (1 / left - 1) / 2


@pytest.mark.parametrize(("n", "d", "sigma"), [(10**7, 6, 0.01), (10**5, 6, 0.01), (2000, 3, 0.1), (200, 1, 1.0)])
@pytest.mark.parametrize("m", [1, 1000])
def test_every_single_pair_lies_below_the_dominating_one(n, d, sigma, m):
    tau = 4 * d / Fraction(sigma)
    dominating = dominating_pair(n, d, tau, m)
    for size in (n, n + 1, 3 * n):
        for r in np.linspace(1.5, float(tau), 4):
            pair = pair_at(size, d, float(r), m)
            for epsilon in (0.0, 0.01, 0.5):
                for backwards in (False, True):
                    # the single pair is itself rounded up by a cell, hence the small margin
                    least = pair._one_direction(epsilon + 0.01 * epsilon, backwards)
                    assert least <= dominating._one_direction(epsilon, backwards) + 1e-6


def test_between_the_worst_single_pair_and_the_renyi_bound():
    g = GaussianGeneration(n=10**6, d=6, sigma=0.01, m=10**6)
    pld = g.epsilon(1e-5, conversion="pld").epsilon
    assert pair_at(10**6, 6, float(g.tau), 10**6).epsilon(1e-5) <= pld <= g.epsilon(1e-5).epsilon


def test_epsilon_meets_delta_and_falls_with_it():
    pair = dominating_pair(10**6, 6, Fraction(2400), 10**5)
    values = [pair.epsilon(delta) for delta in (1e-3, 1e-6, 1e-9)]
    assert values == sorted(values)
    assert all(pair.delta(e) <= delta for e, delta in zip(values, (1e-3, 1e-6, 1e-9), strict=True))


def test_cells_carry_all_mass_and_their_largest_loss():
    part = ShrinkingPart(1000, 0.01)
    for backwards in (False, True):
        losses, masses = part.cells(reversed_pair=backwards)
        assert 1 <= masses.sum() <= 1 + 1e-6
        rng = np.random.default_rng(5)
        squares = rng.chisquare(1000, 20_000) * (0.99 if backwards else 1.0)
        sample = shrink_log_ratio(part, squares) * (-1 if backwards else 1)
        for q in (0.05, 0.5, 0.95):
            at = np.quantile(sample, q)
            assert masses[losses >= at].sum() >= np.mean(sample >= at) - 0.02
