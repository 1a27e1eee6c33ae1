"""The audit of two worlds: strong where the truth is known, silent where a promise holds, loud where it is broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from kagemusha.attacks.audit import audit
from kagemusha.attacks.risk import _Counts, _mu_together, proved
from kagemusha.privacy.accountants import gdp_epsilon, zcdp_rho
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit, RecordSensitivity, Sensitivity
from kagemusha.privacy.events import ThresholdEvent
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.queries.cell_lengths import CellLengths
from kagemusha.release.release import Release
from kagemusha.sources.frame import FrameSource
from kagemusha.sources.open_table import OpenFrame
from kagemusha.synthesizers import create
from kagemusha.synthesizers.protocol import Synthesizer

BUDGET = Budget(1.0, 1e-2)


@pytest.mark.parametrize(("mu", "share"), [(0.3, 0.55), (1.0, 0.8), (3.0, 0.9)])
def test_bounds_are_below_the_truth_and_near_it(mu: float, share: float) -> None:
    rng = np.random.default_rng(0)
    found = proved(rng.normal(0, mu, 20_000) - mu**2 / 2, rng.normal(0, mu, 20_000) + mu**2 / 2, delta=1e-2)
    assert share * mu < found.mu <= mu


@pytest.mark.parametrize("threshold", [None, 0.0])
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
def test_bounds_lie_above_the_truth_as_seldom_as_they_say(mu: float, threshold: float | None) -> None:
    """600 audits at a risk of 20 %: more than 150 wrong ones would be one chance in a thousand."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(600):
        without, inside = (rng.normal(side * mu**2 / 2, mu or 1.0, 60) for side in (-1, 1))
        found = proved(without, inside, delta=1e-2, risk=0.2, threshold=threshold)
        wrong += found.mu > mu or found.epsilon > gdp_epsilon(mu, 1e-2)
    assert wrong <= 150
    if threshold == 0.0:  # and the bound is no wider than it has to be: a single binomial uses up much of its risk
        tight = [_known_threshold(rng, mu or 1e-9) for _ in range(600)]
        assert 600 * 0.01 <= sum(tight) <= 600 * 0.1


def _known_threshold(rng: np.random.Generator, mu: float) -> bool:
    without, inside = (rng.normal(side * mu**2 / 2, mu, 60) for side in (-1, 1))
    counts = _Counts(without, inside, np.array([0.0]))
    return bool(_mu_together(counts, 0.05)[0] > mu)


def test_a_rare_leak_in_one_world_shows_in_the_error_rates_apart() -> None:
    """One person in fifty is printed.

    Together there are hardly more right answers, but there are no false alarms at all.
    """
    rng = np.random.default_rng(3)
    inside = np.where(rng.random(20_000) < 0.02, 100.0, rng.normal(0, 1, 20_000))
    found = proved(rng.normal(0, 1, 20_000), inside, delta=1e-6)
    assert found.mu > 1
    assert found.epsilon > 2


def test_one_threshold_known_beforehand_proves_more() -> None:
    rng = np.random.default_rng(4)
    without, inside = (rng.normal(side * 0.125, 0.5, 20_000) for side in (-1, 1))
    known = proved(without, inside, delta=1e-2, threshold=0.0)
    assert proved(without, inside, delta=1e-2).mu < known.mu < 0.5


def test_equal_worlds_prove_nothing() -> None:
    rng = np.random.default_rng(1)
    found = proved(rng.normal(0, 1, 2000), rng.normal(0, 1, 2000), delta=1e-5)
    assert found.mu == found.epsilon == 0


def test_losses_of_a_gaussian_mechanism_are_what_theory_says() -> None:
    """Columns alone: three answers whose μ add up to what was promised. The mean loss is μ²/2 either way."""
    found = audit(lambda: create("independent"), BUDGET, runs=400)
    mu = found.promised_mu
    spread = 5 * mu / math.sqrt(400)
    assert found.mean_loss[0] == pytest.approx(-(mu**2) / 2, abs=spread)
    assert found.mean_loss[1] == pytest.approx(mu**2 / 2, abs=spread)
    assert found.reachable_mu == pytest.approx(mu, rel=1e-3)
    assert found.reach[1] == 0


def test_what_endless_runs_could_reach_is_never_more_than_was_promised() -> None:
    """mst's answers carry all of its zCDP budget.

    Aim spends a tenth of its own on choices, of which the person moves little.
    """
    rho = zcdp_rho(1.0, 1e-2)
    mst, aim = (audit(lambda name=name: create(name), BUDGET, runs=20) for name in ("mst", "aim"))  # type: ignore[misc]
    assert mst.reachable_mu == pytest.approx(math.sqrt(2 * rho), rel=1e-3)
    assert 0.9 * 2 * rho == pytest.approx(aim.reach[0], rel=0.02)
    assert 0 < aim.reach[1] <= 0.1 * 2 * rho


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("method", ["kage", "aim", "mst", "privbayes", "gaussian", "nigao"])
def test_promises_are_not_contradicted(method: str, relation: Adjacency) -> None:
    rows = 2 if relation is Adjacency.ADD_REMOVE else 1
    found = audit(lambda: create(method), Budget(1.0, 1e-2, relation, rows), runs=50)
    assert not found.verdict.startswith("BROKEN")
    # the truth, with less noise than a bound: losses beyond a Gaussian's would show in their mean
    assert found.mean_loss[1] - found.mean_loss[0] < found.promised_mu**2 + 6 * found.promised_mu / math.sqrt(25)


def test_a_part_of_a_table_is_audited_too() -> None:
    """What another method releases of a part counts: an audit that missed it would find far less than was spent."""
    found = audit(lambda: create("nigao"), Budget(1.0, 1e-2), runs=30, table="mixed")
    assert not found.verdict.startswith("BROKEN")
    spread = found.mean_loss[1] - found.mean_loss[0]
    assert 0.3 * found.promised_mu**2 < spread < found.promised_mu**2 + 6 * found.promised_mu / math.sqrt(15)


def test_discovery_from_end_to_end_is_not_contradicted_and_seen() -> None:
    found = audit(lambda: create("independent"), BUDGET, runs=300, discover=0.4)
    assert not found.contradicted
    # thresholds say whether a label passed, which of the μ² of their counts keeps the part of one bit: 2/π
    spread = found.mean_loss[1] - found.mean_loss[0]
    assert 0.4 * found.promised_mu**2 < spread < found.promised_mu**2 + 5 * found.promised_mu / math.sqrt(300)
    assert 0.9 * found.promised_mu < found.reachable_mu <= found.promised_mu


def test_worlds_are_shuffled_while_labels_are_found_too() -> None:
    orders: list[tuple[object, ...]] = []
    counted, encoded = OpenFrame.count_values, FrameSource.__init__

    def looked(self: OpenFrame, name: str) -> object:
        orders.append(tuple(self._frame["c"].to_pylist()))
        return counted(self, name)

    def read(self: FrameSource, frame: Any, schema: object) -> None:
        orders.append(tuple(frame["c"].to_pylist()))
        encoded(self, frame, schema)  # type: ignore[arg-type]

    with patch.object(OpenFrame, "count_values", looked), patch.object(FrameSource, "__init__", read):
        audit(lambda: create("independent"), BUDGET, runs=2, discover=0.4)
    later = orders[1:]  # the first look finds the threshold
    assert len(later) > 8
    assert len(set(later)) == len(later), "a look had the order of another"


def test_discovery_that_thresholds_too_quietly_is_caught() -> None:
    """Mutant: the counts of labels get a fifth of their noise."""

    def quiet(self: Release, event: object, size: int) -> np.ndarray:
        return draw(self, event, size) // (5 if isinstance(event, ThresholdEvent) else 1)  # type: ignore[arg-type]

    draw = Release.draw
    with patch.object(Release, "draw", quiet):
        found = audit(lambda: create("independent"), Budget(4.0, 1e-2), runs=400, discover=0.9)
    assert found.found.mu > found.promised_mu


def test_a_method_that_promised_no_mu_breaks_none() -> None:
    """Discrete Gaussian noise of σ = .45 is (8, 4.4e-5)-DP by zCDP.

    A continuous one of the same (ε, δ) would have less μ.
    """
    found = audit(lambda: create("mst"), Budget(8.0, 1e-2), runs=1500, seed=11)
    assert found.found.mu > found.promised_mu, "the case that was called broken"
    assert not found.contradicted


def test_too_little_noise_is_caught_where_costs_add_up_as_rho() -> None:
    """Mutant: half the noise in a method of zCDP."""
    draw = SimulatedNoise.discrete_gaussian
    with patch.object(SimulatedNoise, "discrete_gaussian", lambda self, sigma, size: draw(self, sigma / 2, size)):
        assert audit(lambda: create("mst"), Budget(1.0, 1e-2), runs=1500).contradicted


class BatchwiseLengths(CellLengths):
    """Mutant: the lengths of every batch's sums, added up."""

    def part(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        return CellLengths.finish(self, super().part(columns))

    def finish(self, total: np.ndarray) -> np.ndarray:
        return total


def test_scores_that_trust_a_cut_are_caught() -> None:
    """Where every pass cuts anew, such a score is another one in each world, whoever is in it."""
    usual = audit(lambda: create("nigao"), Budget(1.0, 1e-2), runs=20, table="mixed")
    with patch("kagemusha.synthesizers.nigao.cells.CellLengths", BatchwiseLengths):
        found = audit(lambda: create("nigao"), Budget(1.0, 1e-2), runs=20, table="mixed")
    assert usual.reachable_mu <= usual.promised_mu
    assert found.reachable_mu > 1.2 * found.promised_mu


TINY_NETWORKS = {"hidden": 4, "rate": 0.5, "epochs": 2.0, "latent": 2}
TINY_GAN = {"hidden": 4, "rate": 0.5, "epochs": 2.0, "noise": 2, "clip": 0.1, "counts": 0.02}
"""A clip that the person reaches (the gradients of so small a critic are short), and nearly all of the budget in
training."""


def tiny(method: str) -> Synthesizer:
    return create(method, **(TINY_GAN if method == "dp-ctgan" else TINY_NETWORKS))


@pytest.mark.parametrize("method", ["p3gm", "dp-vae", "dp-ctgan", pytest.param("dp-gm", marks=pytest.mark.slow)])
@pytest.mark.parametrize("rows", [1, 2])
def test_promises_of_training_are_not_contradicted(method: str, rows: int) -> None:
    """White box: all noisy sums and gradients in sight of an attacker who knows everybody else's draws."""
    pytest.importorskip("torch")
    budget = Budget(1.0, 1e-2, Adjacency.ADD_REMOVE, rows)
    found = audit(lambda: tiny(method), budget, runs=60)
    assert not found.verdict.startswith("BROKEN")
    assert found.mean_loss[1] > found.mean_loss[0], "the audit sees something"
    assert found.mean_loss[1] - found.mean_loss[0] < found.promised_mu**2 + 6 * found.promised_mu / math.sqrt(30)


def quiet(self: SimulatedNoise, sigma: float, size: int) -> np.ndarray:
    return np.rint(self._rng.normal(0.0, sigma / 4, size)).astype(np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dp-vae", "dp-ctgan"])
def test_training_with_too_little_noise_is_caught(method: str) -> None:
    pytest.importorskip("torch")
    with patch.object(SimulatedNoise, "fast_gaussian", quiet):
        found = audit(lambda: tiny(method), Budget(1.0, 1e-2), runs=600)
    assert found.verdict.startswith("BROKEN")


def halved(self: SimulatedNoise, sigma: float, size: int) -> np.ndarray:
    return np.rint(self._rng.normal(0.0, sigma / 3, size)).astype(np.int64)


def one_row(self: PrivacyUnit, reach: RecordSensitivity) -> Sensitivity:
    return reach.added


MUTANTS: dict[str, tuple[Callable[[], object], Budget]] = {
    "a third of the noise": (lambda: patch.object(SimulatedNoise, "rounded_gaussian", halved), Budget(2.0, 1e-2)),
    "the unit is forgotten": (
        lambda: patch.object(PrivacyUnit, "sensitivity", one_row),
        Budget(2.0, 1e-2, Adjacency.ADD_REMOVE, 6),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_broken_mechanisms_are_caught(name: str) -> None:
    broken, budget = MUTANTS[name]
    assert not audit(lambda: create("independent"), budget, runs=400).verdict.startswith("BROKEN")
    with broken():  # type: ignore[attr-defined]
        assert audit(lambda: create("independent"), budget, runs=400).verdict.startswith("BROKEN")
