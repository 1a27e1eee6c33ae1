"""EM's sums: never moved further by a record than their proof says; without noise, EM as in books."""

from __future__ import annotations

import math

import numpy as np
import pytest

from exact import answer_of
from kagemusha.neural.mixture import LEAST_VARIANCE, Mixture, mixture_of
from kagemusha.neural.wishart import wishart_noise
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.queries.kernel_vectors import KernelVectors
from kagemusha.queries.mixture_sums import MixtureMeans, MixtureQuery, MixtureScatter, MixtureSizes
from kagemusha.queries.record_vectors import Vectors
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.features import features_of

SCHEMA = Schema(
    [
        Integer("a", lower=0, upper=9),
        Integer("b", lower=0, upper=9),
        Category("kind", categories=("u", "v"), out_of_domain="clip"),
    ]
)
FEATURES = features_of(SCHEMA)[:2]
RNG = np.random.default_rng(0)
MIXTURE = Mixture(np.array([0.2, 0.3, 0.5]), RNG.normal(0, 0.5, (3, 2)), np.tile(np.eye(2) * 0.2, (3, 1, 1)))
PLAIN = Vectors(FEATURES, range(2), radius=np.full(1, 0.8), cells=[(2, 2)])
KERNEL = KernelVectors(
    FEATURES, range(2), radius=np.ones(1), directions=RNG.normal(0, 1, (2, 2)), phases=RNG.uniform(0, 6, 2)
)
QUERIES: list[MixtureQuery] = [
    query
    for vectors, mixture in ((PLAIN, MIXTURE), (PLAIN, None), (KERNEL, MIXTURE))
    for query in (
        MixtureSizes(vectors, "sizes", mixture),
        MixtureMeans(vectors, "means", mixture),
        MixtureScatter(vectors, "squares", mixture, "diagonal"),
        MixtureScatter(vectors, "products", mixture, "full"),
    )
]


def records(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    return [rng.integers(0, size, rows).astype(np.int32) for size in SCHEMA.domain.sizes]


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("query", QUERIES, ids=lambda q: type(q).__name__)
def test_a_person_never_moves_a_sum_further_than_proved(query: MixtureQuery, relation: Adjacency, rows: int) -> None:
    moves = PrivacyUnit(relation, rows).sensitivity(query.sensitivity)
    rng = np.random.default_rng(3)
    farthest = 0.0
    for _ in range(40):
        rest = records(rng, 20)
        mine = [np.concatenate(pair) for pair in zip(rest, records(rng, rows), strict=True)]
        other = rest
        if relation is Adjacency.REPLACE:
            other = [np.concatenate(pair) for pair in zip(rest, records(rng, rows), strict=True)]
        step = (answer_of(query, mine) - answer_of(query, other)).astype(object)
        assert (step**2).sum() <= moves.l2_squared
        farthest = max(farthest, float((step**2).sum() / moves.l2_squared))
    if rows == 1 and relation is Adjacency.ADD_REMOVE:
        assert farthest > 0.2, "a bound nobody comes near would hide a wrong factor"


def test_without_noise_a_step_is_that_of_textbooks() -> None:
    """Against responsibilities and moments written out record by record."""
    columns = records(np.random.default_rng(1), 300)
    wide = Vectors(FEATURES, range(2), radius=np.full(1, 2.0))
    points = wide.raw(columns, slice(0, 300)).astype(float)
    density = np.zeros((300, 3))
    for n, x in enumerate(points):
        for k in range(3):
            apart = x - MIXTURE.means[k]
            inside = apart @ np.linalg.inv(MIXTURE.covariances[k]) @ apart
            density[n, k] = (
                MIXTURE.weights[k] * math.exp(-inside / 2) / math.sqrt(np.linalg.det(MIXTURE.covariances[k]))
            )
    shares = density / density.sum(axis=1, keepdims=True)
    sizes = shares.sum(axis=0)
    means = shares.T @ points / sizes[:, None]
    queries = (
        MixtureSizes(wide, "", MIXTURE),
        MixtureMeans(wide, "", MIXTURE),
        MixtureScatter(wide, "", MIXTURE, "full"),
    )
    parts = [q.split(NoisyVector(answer_of(q, columns).astype(float), 1e-9))[0] for q in queries]
    found = mixture_of(*parts, (1e-9, 1e-9, 1e-9))  # type: ignore[arg-type]
    assert np.allclose(found.weights, sizes / 300, atol=1e-3)
    assert np.allclose(found.means, means, atol=2e-3)
    for k in range(3):
        apart = points - means[k]
        exact = (shares[:, k : k + 1] * apart).T @ apart / sizes[k]
        assert np.allclose(found.covariances[k], exact, atol=5e-3)


def test_responsibilities_lie_on_the_simplex_however_far_out() -> None:
    shares = MIXTURE.responsibilities(np.array([[0.0, 0.0], [1e6, -1e6], [300.0, 300.0]]))
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()


def test_noise_alone_makes_a_possible_mixture() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        found = mixture_of(
            rng.normal(0, 50, 4), rng.normal(0, 100, (4, 3)), rng.normal(0, 1000, (4, 3, 3)), (50.0, 100.0, 1000.0)
        )
        assert found.weights.min() > 0
        assert abs(found.weights.sum() - 1) < 1e-9
        assert np.linalg.eigvalsh(found.covariances).min() >= LEAST_VARIANCE * 0.99
        assert np.isfinite(found.means).all()


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_wishart_noise_rules_people_out(width: int, epsilon: float) -> None:
    """1/xᵀ(S + W)⁻¹x is at least 1 with x added; without, it is below with probability 1 − exp(−ε/3).

    No ε-DP allows that.
    """
    rng = np.random.default_rng(0)
    x = np.full(width, 1 / math.sqrt(width))

    def statistic(scatter: np.ndarray) -> float:
        return float(1 / (x @ np.linalg.solve(scatter, x)))

    draws = [wishart_noise(width, epsilon, rng) for _ in range(4000)]
    assert min(statistic(np.outer(x, x) + w) for w in draws) >= 1 - 1e-9
    failure = 1 - math.exp(-epsilon / 3)
    found = np.mean([statistic(w) < 1 for w in draws])
    assert found == pytest.approx(failure, abs=5 * math.sqrt(failure * (1 - failure) / 4000))
