"""Networks: their factors against autograd, their losses against quadrature, their state against themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kagemusha.neural.inputs import Inputs  # noqa: E402
from kagemusha.neural.learners import Clusters, Phased, Projection, Variational  # noqa: E402
from kagemusha.neural.losses import MixtureDivergence  # noqa: E402
from kagemusha.neural.mixture import Mixture  # noqa: E402
from kagemusha.schema import Category, Integer, Real, Schema  # noqa: E402
from kagemusha.schema.features import features_of  # noqa: E402

SCHEMA = Schema(
    [
        Integer("a", lower=0, upper=9),
        Real("b", lower=-1.0, upper=3.0, bins=20, missing=True),
        Category("c", categories=("x", "y", "z"), out_of_domain="clip"),
    ]
)
INPUTS = Inputs(features_of(SCHEMA), range(3))
RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(0, 1, (INPUTS.width, 2)))[0]
MIXTURE = Mixture(np.array([0.3, 0.3, 0.4]), RNG.normal(0, 1, (3, 2)), np.tile(np.eye(2) * 0.7, (3, 1, 1)))
PHASE = Projection(RNG.normal(0, 0.1, INPUTS.width), BASIS, BASIS.T, MIXTURE)


def codes(rows: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, n, rows) for n in SCHEMA.domain.sizes], 1)


def learners() -> dict[str, object]:
    members = [Variational(INPUTS, 2, 5, 1e-3, seed=i) for i in range(2)]
    return {
        "phased": Phased(INPUTS, PHASE, 7, 1e-3),
        "no variance": Phased(INPUTS, PHASE, 7, 1e-3, variance=False),
        "conditional": Phased(INPUTS, PHASE, 7, 1e-3, class_axis=2),
        "variational": Variational(INPUTS, 2, 6, 1e-3),
        "clusters": Clusters(members, lambda c: (c[:, 0] > 4).astype(np.int64), 1e-3),
    }


@pytest.mark.parametrize("name", ["phased", "no variance", "conditional", "variational"])
def test_factors_are_the_gradients_of_every_row(name: str) -> None:
    learner = learners()[name]
    rows = codes(6)
    found = learner.gradients(rows, np.random.default_rng(3)).dense()
    assert found.shape == (6, learner.parameters)
    start = learner.adam.parameters.astype(np.float64)
    probe = np.random.default_rng(4)
    for _ in range(12):
        # along a random direction, by differences of the losses with the same draws
        direction = probe.normal(0, 1, len(start)) / math.sqrt(len(start))
        losses = []
        for sign in (1, -1):
            learner.adam.parameters = (start + sign * 2e-3 * direction).astype(np.float32)
            losses.append(learner.losses(rows, np.random.default_rng(3)))
        slope = (losses[0] - losses[1]) / 4e-3
        assert np.allclose(slope, found @ direction, atol=0.02 + 0.03 * np.abs(slope).max())
    learner.adam.parameters = start.astype(np.float32)


def test_a_row_reaches_its_own_cluster_alone() -> None:
    learner = learners()["clusters"]
    rows = codes(30)
    dense = learner.gradients(rows, np.random.default_rng(0)).dense()
    second = rows[:, 0] > 4
    assert not dense[second, : learner.size].any()
    assert not dense[~second, learner.size :].any()
    assert (np.abs(dense).sum(axis=1) > 0).all()


@pytest.mark.parametrize("name", list(learners()))
def test_a_state_brings_everything_back_and_holds_nothing_but_the_optimiser(name: str) -> None:
    learner, other = learners()[name], learners()[name]
    rng = np.random.default_rng(0)
    for _ in range(3):
        learner.update(rng.normal(0, 1, learner.parameters))
    before = learner.state()
    learner.gradients(codes(11), rng)
    assert learner.state() == before, "a look at rows must leave no trace in a checkpoint"
    other.restore(before)
    step = rng.normal(0, 1, learner.parameters)
    learner.update(step)
    other.update(step)
    assert (learner.adam.parameters == other.adam.parameters).all()
    with pytest.raises(ValueError, match="state"):
        other.restore(before[:-4])


def test_the_decoder_begins_as_the_way_back() -> None:
    learner = Phased(INPUTS, PHASE, 7, 1e-3)
    first, last = learner.decoder.matrices(learner.decoder_parameters().astype(np.float64))
    z = np.random.default_rng(0).normal(0, 1, (20, 2))
    hidden = np.maximum(np.column_stack([z, np.ones(20)]) @ first.T, 0)
    given = np.column_stack([hidden, np.ones(20)]) @ last.T
    measured = INPUTS.measured
    assert np.allclose(given[:, measured], (PHASE.mean + z @ PHASE.back)[:, measured], atol=1e-5)


def true_divergence(mean: float, variance: float, mixture: Mixture) -> float:
    x = np.linspace(-30, 30, 200_001)
    q = np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    p = sum(
        w * np.exp(-((x - m[0]) ** 2) / (2 * c[0, 0])) / math.sqrt(2 * math.pi * c[0, 0])
        for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    )
    kept = (q > 1e-300) & (p > 0)
    return float((q[kept] * np.log(q[kept] / p[kept])).sum() * (x[1] - x[0]))


def bound(mean: float, variance: float, mixture: Mixture) -> float:
    given = MixtureDivergence(mixture)(torch.tensor([[mean]]), torch.tensor([[math.log(variance)]]))
    return float(given[0])


def test_hershey_and_olsen_is_an_upper_bound_and_exact_for_one_component() -> None:
    rng = np.random.default_rng(1)
    for components in (1, 2, 3):
        for _ in range(10):
            weights = rng.dirichlet(np.ones(components))
            mixture = Mixture(weights, rng.normal(0, 2, (components, 1)), rng.uniform(0.3, 2, (components, 1, 1)))
            mean, variance = float(rng.normal(0, 2)), float(rng.uniform(0.2, 2))
            true, ours = true_divergence(mean, variance, mixture), bound(mean, variance, mixture)
            assert ours >= true - 1e-4
            if components == 1:
                assert ours == pytest.approx(true, abs=1e-3)
            parts = MixtureDivergence(mixture).parts(torch.tensor([[mean]]), torch.tensor([[math.log(variance)]]))
            assert ours <= float((parts[0] - torch.from_numpy(np.log(weights))).min()) + 1e-4, (
                "never worse than one of them"
            )


def test_conditional_divergence_is_that_of_the_known_component() -> None:
    divergence = MixtureDivergence(MIXTURE)
    mean, logs = torch.zeros(3, 2), torch.zeros(3, 2)
    parts = divergence.parts(mean, logs)
    known = divergence(mean, logs, torch.tensor([0, 1, 2]))
    expected = parts.diagonal() - torch.log(torch.tensor(MIXTURE.weights)).float()
    assert torch.allclose(known, expected)
