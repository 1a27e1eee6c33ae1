"""How sure a result is: rates against counting, and intervals that hold the truth as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kagemusha.attacks.game import Cell, Outcome
from kagemusha.attacks.intervals import accuracy, area, clustered_mean, p_value, roc, true_rate, true_rates
from kagemusha.attacks.verdict import Verdict, findings, most_accuracy, verdict
from kagemusha.privacy.budget import Budget


def normal(trainings: int, generations: int, mu: float, seed: int, shared: float = 0.0) -> np.ndarray:
    """Scores of a Gaussian attack; `shared` is what tables of one training have in common."""
    rng = np.random.default_rng(seed)
    common = shared * rng.normal(0, 1, (trainings, 2, 1))
    own = math.sqrt(1 - shared**2) * rng.normal(0, 1, (trainings, 2, generations))
    return np.asarray(common + own + np.array([-mu / 2, mu / 2])[None, :, None])


def test_rates_are_those_of_counting() -> None:
    scores = np.array([[[0.1, 0.5], [0.4, 0.9]], [[-1.0, 0.2], [0.5, 2.0]]])
    without, inside = scores[:, 0].ravel(), scores[:, 1].ravel()
    counted = {((without >= t).mean(), (inside >= t).mean()) for t in [*without, *inside, math.inf]}
    assert set(zip(*roc(scores), strict=True)) == counted
    pairs = [(i > w) + (i == w) / 2 for i in inside for w in without]
    assert area(scores) == pytest.approx(np.mean(pairs))
    assert true_rate(scores, 0.25) == 1.0
    assert math.isnan(true_rate(scores, 0.1))


@pytest.mark.parametrize("shared", [0.0, 0.95])
def test_intervals_hold_the_truth_also_where_tables_of_a_training_are_alike(shared: float) -> None:
    held = [accuracy(normal(30, 10, 0.0, seed, shared)) for seed in range(400)]
    assert 0.92 <= np.mean([e.low <= 0.5 <= e.high for e in held]) <= 0.98
    if shared:  # counting every table as a trial of its own holds it far too seldom
        wrong = [accuracy(normal(30, 10, 0.0, seed, shared), exact_fit=True) for seed in range(400)]
        assert np.mean([e.low <= 0.5 <= e.high for e in wrong]) < 0.75


def test_false_alarms_are_as_rare_as_they_say() -> None:
    alarms = [p_value(normal(40, 1, 0.0, seed)) < 0.05 for seed in range(600)]
    assert np.mean(alarms) < 0.075
    assert p_value(normal(40, 1, 2.0, 0)) < 1e-6
    few = [p_value(normal(4, 1, 0.0, seed)) < 0.05 for seed in range(600)]
    assert np.mean(few) < 0.06  # Student's alone is wrong for four trainings


def test_trainings_that_all_agree_still_leave_doubt() -> None:
    sure = clustered_mean(np.ones(5))
    assert sure.value == sure.high == 1
    assert sure.low == pytest.approx(0.478, abs=0.001)  # Clopper and Pearson, five of five
    assert clustered_mean(np.ones(1)).low == 0


def test_true_rates_near_theory() -> None:
    found = true_rates(normal(4000, 1, 1.0, 0))
    from scipy.special import ndtr, ndtri

    for rate, estimate in found.items():
        theory = float(ndtr(ndtri(rate) + 1.0))
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.value == pytest.approx(theory, abs=0.02)
    assert set(true_rates(normal(200, 1, 1.0, 0))) == {0.1, 0.01}


def _verdict(mu: float, trainings: int, budget: Budget | None, target: str = "selective") -> str:
    outcome = Outcome("made", {Cell(target, "onehot/sd", "neighbour"): normal(trainings, 1, mu, 1)})
    return verdict(findings(outcome, budget=budget), budget).kind


def test_verdicts_say_what_the_plays_allow() -> None:
    promise = Budget(1.0, 1e-6)
    assert _verdict(0.0, 1500, promise) == "quiet"
    assert _verdict(0.0, 20, promise) == "weak"
    lucky = np.where(np.arange(8).reshape(4, 2, 1) % 2, 1.0, -1.0)  # all right but one: 87.5 % (47.3 – 99.7)
    lucky[0, 1] = -1.0
    assert verdict(findings(Outcome("made", {Cell("a", "b", "c"): lucky}))).kind == "weak"
    assert _verdict(1.0, 300, None) == "leaks"
    assert _verdict(4.0, 300, promise) == "broken"
    assert _verdict(4.0, 300, promise, target="adaptive×50") == "leaks"  # a promise about one, not about fifty
    words = verdict(findings(Outcome("m", {Cell("a", "b", "c"): normal(20, 1, 0.0, 1)}))).words
    assert "too weak to tell" in words
    assert most_accuracy(Budget(math.log(3), 1e-12)) == pytest.approx(0.75)


def test_beside_a_promise_about_one_many_together_are_told_apart() -> None:
    def judged(mu: float) -> Verdict:
        scores = {
            Cell("adaptive", "onehot/sd", "neighbour"): normal(1500, 1, 0.0, 1),
            Cell("adaptive×50", "onehot/sd", "neighbour"): normal(1500, 1, mu, 2),
        }
        promise = Budget(1.0, 1e-6)
        return verdict(findings(Outcome("made", scores), budget=promise), promise)

    assert judged(4.0).kind == "quiet"
    assert "50 adaptive targets at once are found" in judged(4.0).words
    assert "at once" not in judged(0.0).words
