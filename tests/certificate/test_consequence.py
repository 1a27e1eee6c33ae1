"""What an attacker can do, against attackers who do it: the numbers on the certificate's first page."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from kagemusha.certificate.page import FALSE_POSITIVE_RATES, best_true_positive_rate, consequences, in_words
from kagemusha.privacy.accountants import Accounting, gdp_mu, zcdp_rho
from kagemusha.privacy.budget import Budget

RATES = [f for f in FALSE_POSITIVE_RATES if f < 0.5]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("fpr", RATES)
def test_randomised_response_reaches_the_pure_bound(epsilon: float, fpr: float) -> None:
    """Told the truth with odds e^ε, an attacker believes every yes, and as many noes as their false positives allow."""
    lie = 1 / (1 + math.exp(epsilon))
    reached = (1 - lie) * fpr / lie if fpr <= lie else (1 - lie) + lie * (fpr - lie) / (1 - lie)
    assert best_true_positive_rate(Budget(epsilon, 0.0), Accounting.PURE, fpr) == pytest.approx(reached)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("fpr", RATES)
def test_the_attacker_of_a_gaussian_mechanism_reaches_the_gaussian_bound(epsilon: float, fpr: float) -> None:
    """Noise of deviation 1/μ on a count that one person moves by 1: the best attack is a threshold."""
    mu = gdp_mu(epsilon, 1e-9)
    reached = norm.sf(norm.isf(fpr), loc=mu)
    assert best_true_positive_rate(Budget(epsilon, 1e-9), Accounting.GDP, fpr) == pytest.approx(reached, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("fpr", RATES)
def test_no_attacker_of_a_zcdp_mechanism_passes_its_bound(epsilon: float, fpr: float) -> None:
    budget = Budget(epsilon, 1e-9)
    reached = norm.sf(norm.isf(fpr), loc=math.sqrt(2 * zcdp_rho(epsilon, 1e-9)))
    told = best_true_positive_rate(budget, Accounting.ZCDP, fpr)
    assert reached <= told <= best_true_positive_rate(Budget(epsilon, 1e-9), Accounting.PURE, fpr)
    assert told < 1
    if epsilon == 1.0:
        assert told <= 1.6 * reached, "the bound is of use"


def test_a_simulated_attack_on_noisy_counts_stays_below_what_is_told() -> None:
    budget, rng = Budget(1.0, 1e-9), np.random.default_rng(0)
    noise = rng.normal(0, 1 / gdp_mu(1.0, 1e-9), 400_000)
    threshold = np.quantile(noise, 0.95)
    caught = float(np.mean(noise + 1 > threshold))
    told = best_true_positive_rate(budget, Accounting.GDP, 0.05)
    assert abs(caught - told) < 0.002
    assert f"at most {100 * told:.1f} of 100" in in_words(budget, Accounting.GDP)


def test_an_event_outside_the_curve_is_added() -> None:
    whole = best_true_positive_rate(Budget(1.0, 1e-3), Accounting.GDP, 0.05)
    split = best_true_positive_rate(Budget(1.0, 1e-3), Accounting.GDP, 0.05, aside=5e-4)
    curve = norm.cdf(norm.ppf(0.05 / (1 - 5e-4)) + gdp_mu(1.0, 5e-4))
    assert split == pytest.approx(5e-4 + curve)
    assert split != pytest.approx(whole, rel=1e-6)


def test_without_a_promise_everyone_is_recognised() -> None:
    assert [c.true_positive_rate for c in consequences(Budget(math.inf, 0.0))] == [1.0] * len(FALSE_POSITIVE_RATES)
