"""Planted leaks are found, and where there is nothing to find, nothing is found."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from little import Domain, Drawn, little

from kagemusha.attacks.audit import audit
from kagemusha.attacks.game import Game, Rules
from kagemusha.attacks.inference.registry import inference
from kagemusha.attacks.intervals import accuracy, p_value
from kagemusha.attacks.runner import run
from kagemusha.attacks.targets import choose
from kagemusha.attacks.threat import COUNTING
from kagemusha.privacy.budget import Budget, PrivacyUnit, RecordSensitivity, Sensitivity
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.synthesizers import create

RULES = Rules(trainings=30, references=10, rows=60)


def scores(maker: object, attack: str, seed: int, rules: Rules = RULES) -> np.ndarray:
    table = little()
    target = choose("selective", table, rng=np.random.default_rng(0))
    game = Game(table, target, maker, inference(attack), threat=COUNTING, rules=rules, seed=seed)  # type: ignore[arg-type]
    return next(iter(run(game).scores.values()))


LEAKS = {
    "copies a row": (Drawn(copied=True), Drawn(), "closest-record"),
    "row count tells": (Drawn(counted=True), Drawn(), "row-count"),
    "domain from data": (Domain("data"), Domain("declared"), "support"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_planted_leaks_are_found(name: str) -> None:
    """At a false alarm rate of 5 %: in 19 of 20 games at least.

    The honest twin raises an alarm in 4 of 20 at most (binomial, 99.7 %).
    """
    broken, honest, attack = LEAKS[name]
    # noise is slow: the domain's games are shorter
    rules = RULES if isinstance(broken, Drawn) else Rules(trainings=16, references=1, rows=60)
    found = [p_value(scores(broken, attack, seed, rules)) < 0.05 for seed in range(20)]
    assert sum(found) >= 19
    alarms = [p_value(scores(honest, attack, seed, rules)) < 0.05 for seed in range(20)]
    assert sum(alarms) <= 4


def held(games: int) -> int:
    rules = Rules(trainings=40, references=4, rows=40)
    found = [accuracy(scores(Drawn(), "neighbour", seed, rules)) for seed in range(games)]
    return sum(e.low <= 0.5 <= e.high for e in found)


def test_an_ideal_synthesizer_is_at_chance() -> None:
    """It ignores the table, so intervals of 95 % hold one half.

    Fewer than 17 of 20 would be one chance in a thousand.
    """
    assert held(20) >= 17


@pytest.mark.slow
def test_an_ideal_synthesizer_is_at_chance_in_94_of_100_games() -> None:
    """Over 400 games. Of 1,000 games 970 held it: with 40 trainings an exact interval of 95 % holds more.

    The first hundred held it 92 times.
    """
    assert held(400) >= 0.94 * 400


def halved(self: SimulatedNoise, sigma: float, size: int) -> np.ndarray:
    return np.rint(self._rng.normal(0.0, sigma / 2, size)).astype(np.int64)


def one_row(self: PrivacyUnit, reach: RecordSensitivity) -> Sensitivity:
    return reach.added


@pytest.mark.slow
@pytest.mark.parametrize("name", ["halves its noise", "forgets the unit"])
def test_broken_promises_are_found_by_audits(name: str) -> None:
    """At a risk of 5 %, in 19 of 20 audits at least; the honest method in none of 20 (its bound lies far below)."""
    halves = name == "halves its noise"
    budget = Budget(2.0, 1e-2) if halves else Budget(2.0, 1e-2, rows=6)
    broken = patch.object(
        *((SimulatedNoise, "rounded_gaussian", halved) if halves else (PrivacyUnit, "sensitivity", one_row))
    )

    def alarm(seed: int) -> bool:
        found = audit(lambda: create("gaussian"), budget, runs=200, seed=seed, risk=0.05)
        return found.verdict.startswith("BROKEN")

    assert sum(alarm(seed) for seed in range(20)) <= 1
    with broken:
        assert sum(alarm(seed) for seed in range(20)) >= 19
