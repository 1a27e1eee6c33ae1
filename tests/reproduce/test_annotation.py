"""The page of the annotation paper: areas, claims that can fail, and a table of every arm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kagemusha.annotation.loop import Annotated
from kagemusha.reproduce import annotation_runs
from kagemusha.reproduce.annotation import Report
from kagemusha.reproduce.annotation_arms import ACTUAL, ARMS, MAIN, NETWORK, QuickNetworkTrainer, Settings
from kagemusha.reproduce.annotation_claims import both
from kagemusha.reproduce.annotation_runs import EPSILONS, Curve, all_curves, area, at_mark, choices_of, code_behind
from kagemusha.reproduce.claims import interval


def curves(lift: float, *, runs: int = 4) -> list[Curve]:
    """Runs in which the proposed arm is better by `lift`."""
    rng, made = np.random.default_rng(0), []
    for run in range(runs):
        for epsilon in EPSILONS:
            for arm, level in {"ann": 0.84, "no-ann": 0.82, "no-ann relabelled": 0.84}.items():
                made.append(Curve(1, arm, epsilon, run, [100], [level + 0.001 * rng.random()], 1.0))
            for arm in MAIN:
                level = 0.8 + lift * (arm == "proposed") + 0.001 * rng.random()
                made.append(Curve(2, arm, epsilon, run, [20, 50, 100], [level] * 3, 1.0))
        made.append(Curve(1, "actual", float("inf"), run, [100], [0.85], 0.0))
        made += [Curve(2, arm, float("inf"), run, [20, 50, 100], [0.85] * 3, 0.0) for arm in ACTUAL]
    return made


SETTINGS = Settings(runs=4, elsewhere=(), networks=(), variants=())


def test_the_area_is_the_mean_over_labels() -> None:
    assert area(Curve(2, "x", 1.0, 0, [0, 10, 20], [0.0, 1.0, 1.0], 0.0)) == pytest.approx(0.75)
    assert at_mark(curves(0.0), 50)[0] == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("lift", "verdict"), [(0.03, "holds"), (-0.03, "does not hold"), (0.0, "cannot tell")])
def test_claims_can_hold_and_fail(lift: float, verdict: str) -> None:
    found = {claim.text: claim.verdict for claim in Report(curves(lift), SETTINGS).claims()}
    assert found["Proposed is above Random at ε = 0.4"] == verdict
    assert found["Proposed is above Post-Ann at two candidates per label at ε = 0.1"] == verdict
    assert found["Ann ≥ No-Ann at ε = 0.1"] == "holds"


def test_all_seven_claims_have_a_verdict() -> None:
    claims = Report(curves(0.03), SETTINGS).claims()
    assert {c.where for c in claims} == {*(f"claim {i}" for i in range(1, 8)), "ours"}
    words = {c.text: c.verdict for c in claims}
    assert words["Post-Ann ≈ Random at ε = 0.2 (areas within 0.005)"] == "holds"
    assert words["Post-Ann is far below Actual at ε = 0.2 (more than 0.02)"] == "holds"
    assert words["kage is above Proposed at ε = 0.1"] == "does not hold"
    assert {c.verdict for c in Report(curves(0.03, runs=1), SETTINGS).claims()} == {"cannot tell"}


def test_differences_are_paired_by_split_and_a_missing_one_is_left_out() -> None:
    level = {run: 0.1 * run for run in range(5)}
    more = {run: value + 0.01 + 0.0005 * (run % 2) for run, value in level.items() if run != 2}
    apart = both(more, level)
    assert len(apart) == 4
    assert interval(apart).low > 0


def test_every_arm_can_be_made_and_is_explained() -> None:
    for name, arm in ARMS.items():
        made = Annotated(judge="forest", **arm.choices)
        assert arm.about, name
        assert made.candidates == (100 if name.endswith("100") else 15 if ", 15" in name else 2), name
    assert {arm.network for name, arm in ARMS.items() if name in NETWORK} == {True}


def test_a_stored_run_is_taken_only_if_the_same_code_and_choices_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = choices_of(Settings(runs=5), "proposed")
    assert plain == choices_of(Settings(runs=3, variants=()), "proposed")
    assert plain != choices_of(Settings(runs=5, trees=41), "proposed")
    assert plain != choices_of(Settings(runs=5), "flat")
    assert code_behind("proposed") != code_behind("kage"), "kage's code decides only about kage's arms"
    made: list[str] = []

    def one(_: object, experiment: int, arm: str, epsilon: float, run: int, settings: Settings) -> list[Curve]:
        made.append(arm)
        return [Curve(experiment, arm, epsilon, run, [20], [0.5], 0.0)]

    monkeypatch.setattr(annotation_runs, "made", one)
    monkeypatch.setattr(annotation_runs, "split", lambda *_: None)
    settings = replace(SETTINGS, runs=1)

    def count() -> int:
        made.clear()
        all_curves(settings, tmp_path, lambda *_: None)
        return len(made)

    first = count()
    assert first > 20
    assert count() == 0
    monkeypatch.setattr(annotation_runs, "code_behind", lambda arm: "other" if arm == "kage" else code_behind(arm))
    assert count() == len(EPSILONS), "kage's runs alone are made again"
    assert Report(all_curves(settings, tmp_path, lambda *_: None), settings).stamps()["kage"] == ["other"] * 3


def test_the_quick_network_votes_as_the_exact_one() -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    vectors = rng.integers(-1, 2, (300, 12)).astype(np.float64)
    labels = (vectors[:, 0] + vectors[:, 1] > 0).astype(np.int64)
    quick = QuickNetworkTrainer(3)(vectors, labels, 2, np.random.default_rng(1))
    apart = np.abs(quick.votes(vectors) - quick.exact.votes(vectors))  # type: ignore[attr-defined]
    assert apart.max() < 40, "of 4,096"
