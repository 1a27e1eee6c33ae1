"""Generation randomness: the paper's theorems, their digits, their limits, and real neighbours."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from gaussian_closed_form import divergence, extreme_record, fit, floored, records
from hypothesis import given, settings
from hypothesis import strategies as st

from kagemusha.errors import UsageError
from kagemusha.privacy.generation.bounds import eigenvalue_cost
from kagemusha.privacy.generation.gaussian import GaussianGeneration

PAPER = {"d": 6, "sigma": 0.01}
EVERY = [("add-remove", "paper"), ("replace", "paper"), ("replace", "two-eigenvalue"), ("add-remove", "floor")]


def theorem_3_1(n, d, tau, a):
    first = mp.log(min(1, (1 + a * n * tau / ((n + 1) * (n + 1 - a))) / (1 + tau / (n + 1)) ** a))
    one = (
        a / 2 * tau / ((n + 1) * (n + 1 - a))
        + a * d / (2 * (a - 1)) * mp.log(n / (n + 1))
        - d / (2 * (a - 1)) * mp.log(1 - a / (n + 1))
        - first / (2 * (a - 1))
    )
    second = mp.log(min(1, (1 - a * (n + 1) * tau / ((n + a) * n)) / (1 - tau / n) ** a))
    two = (
        a / 2 * tau / (n * (n + a) - a * (n + 1) * tau)
        + a * d / (2 * (a - 1)) * mp.log((n + 1) / n)
        - d / (2 * (a - 1)) * mp.log(1 + a / n)
        - second / (2 * (a - 1))
    )
    return max(one, two)


def theorem_3_2(n, d, tau, a):
    k = (n - 1) / n**2
    return (
        a / 2 * tau / (n**2 - a * (n - 1) * tau)
        + a / (2 * (a - 1)) * mp.log(1 + k * tau)
        - mp.log(1 - a * k * tau) / (2 * (a - 1))
    )


def moved(mean, radius, a):
    return a / 2 * mean / (1 - a * radius) + (a * mp.log(1 - radius) - mp.log(1 - a * radius)) / (2 * (a - 1))


REFERENCE = {
    ("add-remove", "paper"): theorem_3_1,
    ("replace", "paper"): theorem_3_2,
    ("replace", "two-eigenvalue"): lambda n, d, tau, a: moved(tau / n**2, (n - 1) * tau / n**2, a),
    ("add-remove", "floor"): lambda n, d, tau, a: moved(tau / (n + 1) ** 2, tau / (n + 1), a),
}


def random_case(rng):
    d = int(rng.integers(1, 60))
    sigma = float(10 ** rng.uniform(-3, 0))
    n = math.ceil(4 * d / sigma * 10 ** rng.uniform(0.001, 1)) if rng.uniform() < 0.2 else 0
    n = n or int(10 ** rng.uniform(math.log10(4 * d / sigma) + 0.01, 9))
    return n, d, sigma


@pytest.mark.parametrize(("adjacency", "method"), EVERY)
def test_agrees_with_fifty_digits_over_the_whole_valid_region(adjacency, method):
    rng = np.random.default_rng(20)
    reference = REFERENCE[adjacency, method]
    worst = 0.0
    with mp.workdps(50):
        for _ in range(1000):
            n, d, sigma = random_case(rng)
            g = GaussianGeneration(n=n, d=d, sigma=sigma, m=1, adjacency=adjacency, method=method)
            span = g.alpha_max() - 1
            alpha = 1 + span * (rng.uniform() if rng.uniform() < 0.5 else 10 ** rng.uniform(-6, -1e-9))
            if not 1 < alpha < g.alpha_max():
                continue
            exact = reference(mp.mpf(n), d, 4 * d / mp.mpf(sigma), mp.mpf(alpha))
            worst = max(worst, abs(float(g.rdp(alpha) / exact - 1)))
    assert worst < 1e-10


def test_table_1_of_the_paper():
    sizes = (10**4, 10**5, 10**6, 10**7)
    rows = {
        adjacency: [GaussianGeneration(n=n, m=n, adjacency=adjacency, method="paper", **PAPER).rdp(4) for n in sizes]
        for adjacency in ("add-remove", "replace")
    }
    assert [f"{x:.6g}" for x in rows["add-remove"]] == ["3535.17", "62.5859", "5.80644", "0.576462"]
    assert [f"{x:.6g}" for x in rows["replace"]] == ["6806.72", "3263.22", "3205.81", "3200.58"]


@pytest.mark.parametrize(("n", "target"), [(10**5, 116.0), (10**6, 11.54), (10**7, 1.154)])
def test_two_eigenvalues_beat_the_papers_replace_row(n, target):
    ours = GaussianGeneration(n=n, m=n, adjacency="replace", **PAPER).rdp(4)
    assert ours <= target
    # exchanging one record costs hardly more than removing one
    assert ours < 1.001 * GaussianGeneration(n=n, m=n, **PAPER).rdp(4)


def test_ten_million_records_at_delta_1e_5():
    g = GaussianGeneration(n=10**7, m=10**7, **PAPER)
    assert g.epsilon(1e-5, conversion="paper", alpha=10).epsilon == pytest.approx(2.7217545, abs=1e-7)
    assert g.epsilon(1e-5, conversion="optimal").epsilon <= 2.35
    assert g.epsilon(1e-5, conversion="pld").epsilon <= 2.20


def test_the_optimal_order_is_not_beaten_by_a_fine_grid():
    g = GaussianGeneration(n=10**6, m=10**6, **PAPER)
    best = g.epsilon(1e-5)
    assert min(g.epsilon(1e-5, alpha=a).epsilon for a in np.linspace(1.5, 30, 400)) >= best.epsilon - 1e-9
    assert 1 < best.alpha < g.alpha_max()


def test_a_billion_records_stay_smooth():
    values = [GaussianGeneration(n=n, m=1, **PAPER).rdp(4) * n**2 for n in (10**8, 10**9, 10**9 + 1)]
    assert values == pytest.approx([values[1]] * 3, rel=1e-3)
    assert values[2] == pytest.approx(values[1], rel=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 40), st.floats(1e-3, 1), st.floats(1.01, 100), st.floats(0.01, 0.99), st.floats(1, 3))
@pytest.mark.parametrize(("adjacency", "method"), EVERY)
def test_more_records_never_cost_more(adjacency, method, d, sigma, size, where, more):
    n = math.ceil(4 * d / sigma * size) + 1
    small = GaussianGeneration(n=n, d=d, sigma=sigma, m=1, adjacency=adjacency, method=method)
    large = GaussianGeneration(n=math.ceil(n * more), d=d, sigma=sigma, m=1, adjacency=adjacency, method=method)
    alpha = 1 + where * (small.alpha_max() - 1)
    assert large.rdp(alpha) <= small.rdp(alpha) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"n": 2399}, "n must be greater than about 4d/sigma = 2400"),
        ({"n": 1e7}, "n must be a whole number"),
        ({"d": 0}, "d must be a whole number of at least 1"),
        ({"m": True}, "m must be a whole number"),
        ({"sigma": 0.0}, "sigma must be greater than 0 and at most 1"),
        ({"sigma": math.nan}, "sigma must be greater than 0 and at most 1"),
        ({"sigma": 1.5}, "sigma must be greater than 0 and at most 1"),
        ({"adjacency": "both"}, "adjacency must be one of add-remove, replace"),
        ({"method": "two-eigenvalue"}, "method must be one of paper, floor under add-remove"),
        ({"adjacency": "replace", "n": 1}, "n must be a whole number of at least 2"),
    ],
)
def test_a_bad_field_is_named_with_its_range(change, words):
    with pytest.raises(UsageError, match=words):
        GaussianGeneration(**{"n": 10**6, "m": 1, **PAPER, **change})


@pytest.mark.parametrize(("adjacency", "method"), EVERY)
@pytest.mark.parametrize("alpha", [1, 0.5, math.nan, math.inf, "limit", "above"])
def test_an_invalid_order_is_an_error_never_a_number(adjacency, method, alpha):
    g = GaussianGeneration(n=10**4, m=1, adjacency=adjacency, method=method, **PAPER)
    order = {"limit": math.nextafter(g.alpha_max(), math.inf), "above": 2 * g.alpha_max()}.get(alpha, alpha)
    with pytest.raises(UsageError, match="alpha must be greater than 1 and less than"):
        g.rdp(order)


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan])
def test_delta_is_strictly_between_zero_and_one(delta):
    with pytest.raises(UsageError, match="delta must be greater than 0 and less than 1"):
        GaussianGeneration(n=10**6, m=1, **PAPER).epsilon(delta)


def test_conversions_that_do_not_exist_are_refused():
    g = GaussianGeneration(n=10**6, m=1, **PAPER)
    with pytest.raises(UsageError, match="conversion must be one of paper, optimal, pld"):
        g.epsilon(1e-5, conversion="moments")
    with pytest.raises(UsageError, match="alpha must be left out"):
        g.epsilon(1e-5, conversion="pld", alpha=4)
    with pytest.raises(UsageError, match="dominating pair is proved only for"):
        GaussianGeneration(n=10**6, m=1, adjacency="replace", **PAPER).epsilon(1e-5, conversion="pld")


def test_the_certificate_text_states_the_assumption():
    assumed = GaussianGeneration(n=10**6, m=5, **PAPER).assumption()
    assert "smallest eigenvalue at least 0.01" in assumed
    assert "at least 1000000" in assumed
    assert "ASSUMED" in assumed
    enforced = GaussianGeneration(n=10**6, m=5, adjacency="replace", method="floor", **PAPER).assumption()
    assert "Nothing is assumed about the covariance" in enforced
    assert "exactly 1000000" in enforced


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8), st.floats(1.0001, 1e4), st.floats(0.001, 0.999))
def test_one_shrinking_eigenvalue_is_the_worst_of_its_length(direction, alpha, reach):
    length = math.hypot(*direction)
    if length < 1e-3:
        return
    radius = reach / alpha
    spread = sum(eigenvalue_cost(alpha, radius * e / length) for e in direction)
    assert spread <= eigenvalue_cost(alpha, -radius) * (1 + 1e-12)


def test_ten_thousand_random_neighbours_never_exceed_the_bounds():
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(10_000):
        d = int(rng.integers(1, 9))
        shared = records(rng, int(rng.integers(40, 120)), d)
        n = len(shared)
        x, y = (extreme_record(rng, shared.mean(axis=0)) for _ in range(2))
        # repeating every shared record keeps μ and Σ and makes the bound's condition reachable
        copies = int(rng.integers(1, 400))
        pair = add_remove_pair(shared, copies, x), replace_pair(shared, copies, x, y)
        for (p, q), adjacency, method, size in (
            (pair[0], "add-remove", "paper", n * copies),
            (pair[1], "replace", "two-eigenvalue", n * copies + 1),
        ):
            ratios.append(compare(rng, p, q, adjacency, method, size))
    assert 0.3 < max(ratios) <= 1 + 1e-9
    assert sum(ratio > 0 for ratio in ratios) >= 10_000


def weighted(shared, copies, extra):
    """The fit of `copies` times the shared records and some more, without building the table."""
    mean, cov = fit(shared)
    for i, x in enumerate(extra):
        size = len(shared) * copies + i
        gap = x - mean
        mean = mean + gap / (size + 1)
        cov = size / (size + 1) * cov + size / (size + 1) ** 2 * np.outer(gap, gap)
    return mean, cov


def add_remove_pair(shared, copies, x):
    return weighted(shared, copies, []), weighted(shared, copies, [x])


def replace_pair(shared, copies, x, y):
    return weighted(shared, copies, [x]), weighted(shared, copies, [y])


def compare(rng, p, q, adjacency, method, size):
    """Divergence over bound for a random valid order, the worse of both directions; 0 if no order is valid."""
    d = len(p[0])
    sigma = min(np.linalg.eigvalsh(p[1])[0], np.linalg.eigvalsh(q[1])[0])
    if sigma < 1e-6 or size <= 4.2 * d / sigma:
        return 0.0
    g = GaussianGeneration(n=size, d=d, sigma=float(sigma), m=1, adjacency=adjacency, method=method)
    alpha = 1 + (min(g.alpha_max(), 200) - 1) * rng.uniform(0.01, 0.99)
    return max(divergence(*p, *q, alpha), divergence(*q, *p, alpha)) / g.rdp(alpha)


def test_a_floored_generator_needs_no_assumption():
    rng = np.random.default_rng(8)
    for _ in range(3000):
        d = int(rng.integers(1, 9))
        shared = records(rng, 30, d)
        shared[:, -1] *= 1e-3
        x, y = (extreme_record(rng, shared.mean(axis=0)) for _ in range(2))
        sigma = float(rng.choice([0.01, 0.1, 0.5]))
        copies = int(rng.integers(2, 5) * 4 * d / sigma / 30) + 1
        size = 30 * copies
        for (p, q), adjacency, n in (
            (add_remove_pair(shared, copies, x), "add-remove", size),
            (replace_pair(shared, copies, x, y), "replace", size + 1),
        ):
            g = GaussianGeneration(n=n, d=d, sigma=sigma, m=1, adjacency=adjacency, method="floor")
            alpha = 1 + (g.alpha_max() - 1) * rng.uniform(0.01, 0.99)
            moved_pair = (p[0], floored(p[1], sigma), q[0], floored(q[1], sigma))
            assert divergence(*moved_pair, alpha) <= g.rdp(alpha) * (1 + 1e-9)


def replaced_divergence(sigma, n, x, y, alpha):
    """x and y measured from the shared records' mean; Σ₁ = σI, which the proof shows to be the worst."""
    cov = sigma * np.eye(len(x))
    change = (n - 1) / n**2 * (np.outer(y, y) - np.outer(x, x))
    return divergence(x / n, cov, y / n, cov + change, alpha)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_search_over_exchanged_records_attains_but_never_passes_the_replace_bound(d):
    from scipy.optimize import minimize

    sigma, n, alpha = 0.1, 40 * d * 3, 2.5
    bound = GaussianGeneration(n=n, d=d, sigma=sigma, m=1, adjacency="replace").rdp(alpha)

    def place(z):
        centre, x, y = np.tanh(z).reshape(3, d)
        return replaced_divergence(sigma, n, x - centre, y - centre, alpha)

    rng = np.random.default_rng(3)
    best = 0.0
    for _ in range(12):
        found = minimize(lambda z: -place(z), rng.normal(scale=2, size=3 * d), method="Powell", options={"maxiter": 30})
        best = max(best, -found.fun)
    assert best <= bound * (1 + 1e-9)
    assert best >= 0.99 * bound


def test_a_grid_over_both_lengths_and_the_angle_stays_below_the_targets_of_lengths_alone():
    """Even with only a, b ≤ τ and any angle, the maximum is what h(kτ) + h(−kτ) says it is."""
    n, tau, alpha = 10**6, 2400.0, 4.0
    k = (n - 1) / n**2
    corner = eigenvalue_cost(alpha, k * tau) + eigenvalue_cost(alpha, -k * tau)
    for a in np.linspace(0, tau, 9):
        for b in np.linspace(0, tau, 9):
            for cosine in np.linspace(-1, 1, 21):
                c = cosine * math.sqrt(a * b)
                middle, product = k * (a - b) / 2, k * k * (a * b - c * c)
                root = math.sqrt(middle**2 + product)
                both = eigenvalue_cost(alpha, middle + root) + eigenvalue_cost(alpha, middle - root)
                assert both <= corner * (1 + 1e-9)
    assert n * corner + n * alpha / 2 * tau / (n**2 - alpha * (n - 1) * tau) <= 11.54


def test_theorem_3_1_is_attained_by_one_record_at_full_distance():
    n, d, sigma, alpha = 10**4, 6, 0.01, 3.0
    cov = sigma * np.eye(d)
    gap = np.full(d, 2.0)
    smaller = (n + 1) / n * cov - (n + 1) / n**2 * np.outer(gap, gap)
    value = divergence(np.zeros(d), cov, -gap / n, smaller, alpha)
    assert value == pytest.approx(GaussianGeneration(n=n, d=d, sigma=sigma, m=1).rdp(alpha), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_closed_form_is_what_sampling_shows(seed):
    rng = np.random.default_rng(seed)
    d, alpha, draws = 3, 2.0, 400_000
    shared = records(rng, 40, d)
    p, q = add_remove_pair(shared, 1, extreme_record(rng, shared.mean(axis=0)))
    sample = rng.multivariate_normal(*p, size=draws)
    ratio = np.exp((alpha - 1) * (log_density(sample, *p) - log_density(sample, *q)))
    error = 6 * ratio.std() / math.sqrt(draws) / ratio.mean() / (alpha - 1)
    assert math.log(ratio.mean()) / (alpha - 1) == pytest.approx(divergence(*p, *q, alpha), abs=error)


def log_density(sample, mean, cov):
    centred = sample - mean
    return -0.5 * np.einsum("ij,ij->i", centred, np.linalg.solve(cov, centred.T).T) - 0.5 * np.linalg.slogdet(cov)[1]
