"""Rows of a secret normal distribution: no pair of neighbours passes the bound, and a smaller bound would be passed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kagemusha.errors import VerifyError
from kagemusha.marginals import Marginal
from kagemusha.privacy.accountants import GDP, PLD, RDP, ZCDP
from kagemusha.privacy.events import GenerationEvent, event_from_json
from kagemusha.privacy.generation.gaussian import GaussianGeneration
from kagemusha.privacy.generation.noise import NoisyGeneration
from kagemusha.privacy.generation.rows import moved_by_one
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.release.rows import cliques_of, codes_of, draw, secret_of
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.schema.features import STEPS, features_of, generation_facts

NUMBERS = Schema([Integer("a", lower=0, upper=40), Integer("b", lower=0, upper=40)])
MIXED = Schema(
    [
        Category("c", categories=("x", "y", "z"), out_of_domain="clip"),
        Real("r", lower=0.0, upper=1.0, bins=9, missing=True),
        Category("d", categories=("x", "y"), out_of_domain="clip"),
    ]
)


def event_of(schema: Schema, **changed: float) -> GenerationEvent:
    told = {"rows": 5, "at_least": 40, "floor": 0.3, "noise": 0.0, "share": 0.1, "person": 1, **changed}
    return GenerationEvent(what="rows", **generation_facts(features_of(schema)), **told)  # type: ignore[arg-type]


def counted(schema: Schema, codes: np.ndarray):  # type: ignore[no-untyped-def]
    found = {}
    for clique in cliques_of(features_of(schema)):
        table = np.zeros(schema.domain.shape(clique), dtype=np.int64)
        np.add.at(table, tuple(codes[:, schema.domain.axis(n)] for n in clique), 1) if clique else table.fill(
            len(codes)
        )
        found[clique] = Marginal(clique, table)
    return found


def vectors(schema: Schema, codes: np.ndarray) -> np.ndarray:
    return np.column_stack([f.table[codes[:, i]] / STEPS for i, f in enumerate(features_of(schema))])


def random_codes(schema: Schema, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Mostly one record, so that single ones count."""
    sizes = np.array(schema.domain.sizes)
    codes = np.tile(rng.choice([np.zeros_like(sizes), sizes - 1]), (rows, 1))
    odd = rng.random(rows) < rng.choice([0.02, 0.1, 0.5])
    codes[odd] = rng.integers(0, sizes, (int(odd.sum()), len(sizes)))
    return codes


def neighbours(schema: Schema, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two tables, smaller or larger than `at_least`, of which one has another record or one more."""
    sizes = np.array(schema.domain.sizes)
    codes = random_codes(schema, int(rng.choice([20, 39, 40, 41, 60])), rng)
    extra = rng.choice([np.zeros_like(sizes), sizes - 1, rng.integers(0, sizes)])[None]
    other = np.concatenate([codes, extra]) if rng.random() < 0.5 else np.concatenate([codes[1:], extra])
    return codes, other


def divergence(alpha: float, one: tuple[np.ndarray, np.ndarray], two: tuple[np.ndarray, np.ndarray]) -> float:
    """D_α of two normal distributions, by the closed form."""
    (m1, f1), (m2, f2) = one, two
    first, second = f1 @ f1.T, f2 @ f2.T
    mixed = (1 - alpha) * first + alpha * second
    logs = [np.linalg.slogdet(s)[1] for s in (mixed, first, second)]
    gap = m1 - m2
    return float(
        alpha / 2 * gap @ np.linalg.solve(mixed, gap)
        - (logs[0] - (1 - alpha) * logs[1] - alpha * logs[2]) / (2 * (alpha - 1))
    )


@pytest.mark.parametrize("schema", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_no_neighbour_moves_mean_or_covariance_further_and_no_draw_tells_more(schema: Schema) -> None:
    """Through the code that draws: filled up, on its lattice, with its floor."""
    rng = np.random.default_rng(0)
    features, event = features_of(schema), event_of(schema)
    cost = event.cost
    closest = 0.0
    for _ in range(400):
        pair = [secret_of(features, counted(schema, codes), event.at_least) for codes in neighbours(schema, rng)]
        mean, covariance = (
            np.linalg.norm((getattr(pair[0], n) - getattr(pair[1], n)) * 2.0**-40) for n in ("mean", "covariance")
        )
        assert mean <= cost.mean_step
        assert covariance <= cost.covariance_step
        closest = max(closest, covariance / cost.covariance_step)
        one, two = (secret.normal(event) for secret in pair)
        assert all(np.linalg.eigvalsh(f @ f.T).min() >= event.floor for _, f in (one, two))
        for alpha in (1.5, 3.0):
            assert divergence(alpha, one, two) * event.rows <= event.renyi(alpha)
            assert divergence(alpha, two, one) * event.rows <= event.renyi(alpha)
    assert closest > 0.4, "these tables come near the bound"


def test_exchanged_records_of_labels_need_the_larger_constant() -> None:
    """Three labels, equally far from each other: ‖ỹỹᵀ − x̃x̃ᵀ‖ is √1.5 of their squared distance."""
    x, y, mean = np.eye(3)
    moved = np.linalg.norm(np.outer(y - mean, y - mean) - np.outer(x - mean, x - mean))
    assert moved == pytest.approx(math.sqrt(1.5) * 2)
    assert moved <= moved_by_one(2, 3) <= 1.0001 * moved
    assert moved_by_one(24, 24) == 24, "numbers: the box is the better bound"


def test_mean_and_covariance_are_those_of_the_filled_table() -> None:
    rng = np.random.default_rng(1)
    for rows in (30, 90):
        codes = random_codes(MIXED, rows, rng)
        secret = secret_of(features_of(MIXED), counted(MIXED, codes), 40)
        x = vectors(MIXED, codes)
        x = np.concatenate([x, np.zeros((max(0, 40 - rows), x.shape[1]))])
        np.testing.assert_allclose(secret.mean * 2.0**-40, x.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(secret.covariance * 2.0**-40, np.cov(x.T, bias=True), atol=1e-12)


def test_it_is_the_floored_generator_of_the_paper_and_never_costs_less() -> None:
    ours = event_of(NUMBERS, rows=1000, at_least=10**6, floor=0.01)
    paper = GaussianGeneration(n=10**6, d=2, sigma=0.01, m=1000, method="floor")
    for alpha in (2.0, 8.0, 30.0):
        assert paper.rdp(alpha) <= ours.renyi(alpha) <= 1.001 * paper.rdp(alpha)
    both = NoisyGeneration(n=10**6, d=2, sigma=0.01, m=1000)
    for noise in (0.5, 3.0):
        known = both.rdp(4.0, noise)
        assert known <= replace(ours, noise=noise).renyi(4.0) <= 1.001 * known


def test_noise_is_what_one_person_moves_times_the_multiplier() -> None:
    event = event_of(NUMBERS, noise=2.5, rows=3, person=3)
    asked: list[tuple[float, int]] = []

    class Recorder(SimulatedNoise):
        def rounded_gaussian(self, sigma: float, size: int) -> np.ndarray:
            asked.append((sigma, size))
            return np.zeros(size, dtype=np.int64)

    noise = Recorder(np.random.default_rng(0))
    secret = secret_of(features_of(NUMBERS), counted(NUMBERS, np.zeros((50, 2), dtype=np.int64)), 40)
    draw(features_of(NUMBERS), secret.noisy(event, noise), event, noise, lambda _: None)
    mean, covariance = 3 * math.sqrt(8) / 40, 3 * 8 / 41
    scales = [2.5 * mean / math.sqrt(0.1), 2.5 * covariance / math.sqrt(0.9), 2.5 * covariance / math.sqrt(1.8)]
    assert [size for _, size in asked] == [2, 2, 1, 6]
    for (sigma, _), scale in zip(asked, scales, strict=False):
        assert sigma * 2.0**-40 == pytest.approx(scale, rel=1e-9)
    assert asked[-1][0] == 2.0**57


def test_draws_have_the_mean_and_covariance_of_the_secret() -> None:
    event = event_of(MIXED, rows=20_000, floor=0.1)
    features = features_of(MIXED)
    secret = secret_of(features, counted(MIXED, random_codes(MIXED, 80, np.random.default_rng(2))), 40)
    seen: list[np.ndarray] = []
    draw(features, secret, event, SimulatedNoise(np.random.default_rng(3)), seen.append)
    drawn = np.concatenate(seen) * 2.0**-56
    mean, factor = secret.normal(event)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(drawn.T), factor @ factor.T, atol=0.03)


def test_codes_are_the_nearest_place_the_largest_label_and_missing_from_one_half_on() -> None:
    unit = 1 << 56
    label, number, _ = features_of(MIXED)
    assert codes_of(label, np.array([[1, 5, 2], [7, 5, 2]])).tolist() == [1, 0]
    places = number.table[:9, 0]
    drawn = np.array([[int(p) * (unit >> 10), 0] for p in places] + [[-unit * 3, 0], [unit * 3, unit // 2 + 1]])
    assert codes_of(number, drawn).tolist() == [*range(9), 0, 9]


def test_accountants_take_the_better_of_noise_and_draws() -> None:
    drawn = event_of(NUMBERS, rows=100, at_least=10**5, floor=0.1)
    assert ZCDP().epsilon([drawn], 1e-6) == GDP().epsilon([drawn], 1e-6) == math.inf
    assert PLD().epsilon([drawn], 1e-6) == RDP().epsilon([drawn], 1e-6) < 0.2
    noisy = replace(drawn, noise=1.0)
    assert PLD().epsilon([noisy], 1e-6) <= RDP().epsilon([noisy], 1e-6) <= RDP().epsilon([drawn], 1e-6)
    many = replace(noisy, rows=10**6, at_least=50)
    assert PLD().epsilon([many], 1e-2) == pytest.approx(GDP().epsilon([many], 1e-2), rel=1e-2)
    assert noisy.rho == Fraction(1, 2)
    assert drawn.delta > 0
    assert event_from_json(noisy.to_json()) == noisy


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"floor": 0.0}, {"noise": -1.0}, {"share": 1.0}, {"at_least": 1.5}])
def test_malformed_events_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(VerifyError, match="malformed"):
        event_from_json({**event_of(NUMBERS).to_json(), **wrong})
