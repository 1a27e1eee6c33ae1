"""Our ε against closed forms, 50-digit arithmetic and another library."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from kagemusha.privacy.accountants import GDP, PLD, RDP, ZCDP, Pure, gdp_delta, gdp_epsilon, gdp_mu, zcdp_delta
from kagemusha.privacy.accountants.zcdp import zcdp_epsilon, zcdp_rho
from kagemusha.privacy.events import Event, ExponentialEvent, GaussianEvent, LaplaceEvent, UnprotectedEvent
from kagemusha.privacy.renyi import pure_renyi


def reference_zcdp_epsilon(rho: float, delta: float) -> mpmath.mpf:
    """The same formula minimised with 50 digits."""
    with mpmath.workdps(50):
        rho_, log_delta = mpmath.mpf(rho), mpmath.log(mpmath.mpf(delta))

        def slope(alpha: mpmath.mpf) -> mpmath.mpf:
            # derivative of αρ + (−log δ − log(α−1) + α log(1−1/α)) / (α−1), times (α−1)²
            return rho_ * (alpha - 1) ** 2 + log_delta + mpmath.log(alpha)

        low, high = mpmath.mpf(1) + mpmath.mpf(10) ** -30, mpmath.mpf(10) ** 12
        for _ in range(260):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        alpha = (low + high) / 2
        value = alpha * rho_ + (-log_delta - mpmath.log(alpha - 1) + alpha * mpmath.log(1 - 1 / alpha)) / (alpha - 1)
        return max(mpmath.mpf(0), value)


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9, 1e-12])
def test_zcdp_conversion_agrees_with_fifty_digits(delta: float) -> None:
    for rho in np.geomspace(1e-7, 500, 60):
        expected = reference_zcdp_epsilon(float(rho), delta)
        assert float(abs(zcdp_epsilon(float(rho), delta) - expected)) <= 1e-9 * max(1.0, float(expected))


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0])
def test_both_directions_of_zcdp_agree_and_never_overpromise(epsilon: float, delta: float) -> None:
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon
    assert zcdp_epsilon(rho * (1 + 1e-6), delta) > epsilon
    assert zcdp_delta(rho, epsilon) <= delta * (1 + 1e-9)


def test_the_papers_budget() -> None:
    assert zcdp_rho(1, 1e-9) == pytest.approx(0.01497, abs=5e-6)
    assert gdp_mu(1, 1e-9) ** 2 / 2 == pytest.approx(0.01656, abs=5e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, 100.0])
def test_gaussian_dp_agrees_with_fifty_digits(epsilon: float) -> None:
    mu = gdp_mu(epsilon, 1e-9)
    with mpmath.workdps(50):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        delta = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert delta <= mpmath.mpf("1e-9")
        assert abs(mpmath.mpf(gdp_delta(mu, epsilon)) / delta - 1) < 1e-9
    assert gdp_epsilon(mu, 1e-9) == pytest.approx(epsilon, rel=1e-8)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 3e-6, 1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("delta", [1e-15, 1e-12, 1e-9, 1e-3])
def test_gaussian_dp_never_overpromises_where_little_precision_is_left(epsilon: float, delta: float) -> None:
    mu = gdp_mu(epsilon, delta)
    with mpmath.workdps(60):

        def exact(m: mpmath.mpf, e: mpmath.mpf) -> mpmath.mpf:
            return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)

        spent = exact(mpmath.mpf(mu), mpmath.mpf(epsilon))
        assert (1 - 1e-3) * delta < spent <= mpmath.mpf(delta)
        assert exact(mpmath.mpf(mu), mpmath.mpf(gdp_epsilon(mu, delta))) <= mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", [1e4, 1e100, 1e300, 1.7e308])
def test_gaussian_dp_knows_an_end_to_its_search(epsilon: float) -> None:
    assert gdp_mu(epsilon, 1e-9) > 100


def test_pure_renyi_is_randomised_response() -> None:
    epsilon, alpha = 0.7, 3.5
    p, q = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    direct = math.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)
    assert pure_renyi(alpha, epsilon) == pytest.approx(direct, rel=1e-12)
    assert pure_renyi(alpha, epsilon) <= alpha * epsilon**2 / 2


def test_the_exponential_mechanism_matches_its_golden_divergence() -> None:
    # exact KL of the worst ε-bounded-range mechanism at ε = 1 is 0.1233016; zCDP charges 1/8
    event = ExponentialEvent(what="", epsilon=1.0, candidates=2)
    assert 0.1233016 < float(event.rho) == 0.125


def random_events(rng: np.random.Generator) -> list[Event]:
    """One to four kinds of mechanism with random parameters, under a random adjacency."""
    l1 = int(rng.integers(1, 3))
    events: list[Event] = []
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(3)
        times = int(rng.integers(1, 6))
        if kind == 0:
            sigma = float(np.exp(rng.uniform(0, 5)))
            events += [GaussianEvent(what="", sigma=sigma, l2_squared=l1, noise="rounded")] * times
        elif kind == 1:
            events += [LaplaceEvent(what="", scale=float(np.exp(rng.uniform(0.5, 5))), l1=l1)] * times
        else:
            events += [ExponentialEvent(what="", epsilon=float(np.exp(rng.uniform(-5, 0))), candidates=9)] * times
    return events


def lower_bound(events: list[Event], delta: float) -> float:
    """dp-accounting's optimistic composition of mechanisms that these events cover."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    whole = None
    interval = 1e-3
    for event in events:
        if isinstance(event, GaussianEvent):
            part = pld.from_gaussian_mechanism(
                event.sigma / math.sqrt(event.l2_squared),
                pessimistic_estimate=False,
                value_discretization_interval=interval,
                use_connect_dots=False,
            )
        elif isinstance(event, LaplaceEvent):
            part = pld.from_laplace_mechanism(
                event.scale,
                sensitivity=event.l1,
                pessimistic_estimate=False,
                value_discretization_interval=interval,
                use_connect_dots=False,
            )
        else:
            # one bounded-range mechanism: two candidates whose scores move apart by the whole range
            assert isinstance(event, ExponentialEvent)
            p, q = 1 / (1 + math.exp(-event.epsilon / 2)), 1 / (1 + math.exp(event.epsilon / 2))
            part = pld.from_two_probability_mass_functions(
                {0: math.log(q), 1: math.log(p)},
                {0: math.log(p), 1: math.log(q)},
                pessimistic_estimate=False,
                value_discretization_interval=interval,
            )
        whole = part if whole is None else whole.compose(part)
    assert whole is not None
    return float(whole.get_epsilon_for_delta(delta))


@pytest.mark.slow
def test_no_accountant_is_ever_below_the_truth() -> None:
    rng = np.random.default_rng(20)
    for _ in range(1400):
        events = random_events(rng)
        delta = float(10 ** rng.uniform(-9, -2))
        truth = lower_bound(events, delta)
        assert ZCDP().epsilon(events, delta) >= truth - 1e-9
        assert RDP().epsilon(events, delta) >= truth - 1e-9
        assert GDP().epsilon(events, delta) >= truth - 1e-9
        assert Pure().epsilon(events, delta) >= truth - 1e-9


def test_numerical_composition_is_above_the_truth_and_close() -> None:
    rng = np.random.default_rng(21)
    for _ in range(12):
        events = [e for e in random_events(rng) if isinstance(e, GaussianEvent)]
        if not events:
            continue
        ours, truth = PLD().epsilon(events, 1e-5), lower_bound(events, 1e-5)
        assert truth - 1e-9 <= ours <= truth + 1e-3 * len(events) + 1e-3


def test_numerical_composition_of_gaussians_agrees_with_an_independent_accountant() -> None:
    events = [GaussianEvent(what="", sigma=s, l2_squared=1, noise="rounded") for s in (3.0, 5.0, 8.0, 8.0)]
    assert PLD().epsilon(events, 1e-6) == pytest.approx(GDP().epsilon(events, 1e-6), abs=1e-3)


@pytest.mark.parametrize("epsilon", [300.0, 600.0, 4000.0])
def test_a_hardly_private_step_has_a_finite_total_everywhere(epsilon: float) -> None:
    events: list[Event] = [
        LaplaceEvent(what="", scale=1 / epsilon, l1=1),
        ExponentialEvent(what="", epsilon=epsilon, candidates=2),
    ]
    for accountant in (ZCDP(), RDP(), PLD(), Pure()):
        assert epsilon / 2 < accountant.epsilon(events, 1e-9) < math.inf
    assert PLD().epsilon(events, 1e-9) <= 2 * epsilon * (1 + 1e-6) + 0.1


def test_an_unprotected_read_costs_infinity_everywhere() -> None:
    events: list[Event] = [
        GaussianEvent(what="", sigma=1.0, l2_squared=1),
        UnprotectedEvent(what="the table", reason="a baseline"),
    ]
    for accountant in (ZCDP(), RDP(), GDP(), PLD(), Pure()):
        assert math.isinf(accountant.epsilon(events, 1e-5))


def test_nothing_costs_nothing() -> None:
    for accountant in (ZCDP(), RDP(), GDP(), PLD(), Pure()):
        assert accountant.epsilon([], 1e-5) == 0


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_the_numerical_profile_of_a_choice_is_the_worst_bounded_range_mechanism(epsilon: float) -> None:
    """Every ε-bounded-range mechanism is dominated by the pairs with losses t and t − ε, 0 ≤ t ≤ ε.

    All t by brute force.
    """
    composed = PLD(epsilon / 2000).compose([ExponentialEvent(what="", epsilon=epsilon, candidates=5)])
    t = np.linspace(0, epsilon, 4001)[1:]
    q = -np.expm1(t - epsilon) / (np.exp(t) - np.exp(t - epsilon))
    for x in np.linspace(0, epsilon, 9)[:-1]:
        worst = float(np.max(np.exp(t) * q - np.exp(x) * q))
        told = float(composed.get_delta_for_epsilon(x))
        assert worst * (1 - 1e-6) <= told <= worst + 1e-3 * epsilon


@pytest.mark.parametrize(("epsilon", "times"), [(0.3, 1), (0.3, 5), (1.0, 3)])
def test_the_numerical_profile_of_laplace_noise_is_that_of_randomised_response(epsilon: float, times: int) -> None:
    """k answers that are each true with odds e^ε, summed over how many are true: no k-fold ε-DP is worse."""
    composed = PLD(epsilon / 1000).compose([LaplaceEvent(what="", scale=1 / epsilon, l1=1)] * times)
    true = 1 / (1 + math.exp(-epsilon))
    for x in np.linspace(0, epsilon * times, 7)[:-1]:
        exact = sum(
            math.comb(times, k)
            * max(0.0, true**k * (1 - true) ** (times - k) - math.exp(x) * true ** (times - k) * (1 - true) ** k)
            for k in range(times + 1)
        )
        told = float(composed.get_delta_for_epsilon(x))
        assert exact * (1 - 1e-6) <= told <= exact + 2e-3 * epsilon * times


def test_numerical_composition_of_every_kind_is_above_the_truth() -> None:
    rng = np.random.default_rng(22)
    for _ in range(12):
        events = random_events(rng)
        assert PLD().epsilon(events, 1e-5) >= lower_bound(events, 1e-5) - 1e-9
