"""The page of the annotation paper: areas, claims that can fail, and a table of every arm."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.annotation.loop import Annotated
from kagemusha.reproduce.annotation import Report
from kagemusha.reproduce.annotation_arms import ARMS, MAIN, Settings
from kagemusha.reproduce.annotation_claims import compared
from kagemusha.reproduce.annotation_runs import EPSILONS, Curve, _stamp, area, at_mark


def curves(lift: float) -> list[Curve]:
    """Three runs in which the proposed arm is better by `lift`."""
    rng, made = np.random.default_rng(0), []
    for run in range(3):
        for epsilon in EPSILONS:
            for arm, level in {"ann": 0.84, "no-ann": 0.82, "no-ann relabelled": 0.84}.items():
                made.append(Curve(1, arm, epsilon, run, [100], [level + 0.001 * rng.random()], 1.0))
            for arm in MAIN:
                level = 0.8 + lift * (arm == "proposed") + 0.001 * rng.random()
                made.append(Curve(2, arm, epsilon, run, [20, 50, 100], [level] * 3, 1.0))
        made.append(Curve(1, "actual", float("inf"), run, [100], [0.85], 0.0))
        made.append(Curve(2, "actual", float("inf"), run, [20, 50, 100], [0.85] * 3, 0.0))
    return made


def test_the_area_is_the_mean_over_labels() -> None:
    assert area(Curve(2, "x", 1.0, 0, [0, 10, 20], [0.0, 1.0, 1.0], 0.0)) == pytest.approx(0.75)
    assert at_mark(curves(0.0), 50)[0] == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("lift", "verdict"), [(0.03, "holds"), (-0.03, "does not hold"), (0.0, "cannot tell")])
def test_claims_can_hold_and_fail(lift: float, verdict: str) -> None:
    report = Report(curves(lift), Settings(runs=3, ablations=()))
    told = {claim.text: claim.word for claim in report.claims()}
    assert told["Proposed is above Random at ε = 0.4"] == verdict
    assert told["Ann ≥ No-Ann at ε = 0.1"] == "holds"
    assert verdict in report.markdown()


def test_all_seven_claims_have_a_verdict() -> None:
    claims = Report(curves(0.03), Settings(runs=3, ablations=())).claims()
    assert [c.number for c in claims] == sorted((c.number for c in claims), key=lambda n: n or 99)
    assert {c.number for c in claims} == set(range(8))
    words = {c.text: c.word for c in claims}
    assert words["Post-Ann ≈ Random at ε = 0.2 (within 0.005)"] == "holds"
    assert words["Post-Ann is far below Actual at ε = 0.2 (more than 0.02)"] == "holds"
    assert words["kage is above Proposed at ε = 0.1"] == "does not hold"


def test_differences_are_paired_by_split() -> None:
    """Splits that differ far more than arms do: paired differences tell the arms apart all the same."""
    level = np.array([0.70, 0.80, 0.90, 0.75, 0.85])
    assert compared(0, "", level + np.array([0.010, 0.011, 0.009, 0.010, 0.010]), level).word == "holds"
    assert compared(0, "", level[::-1] + 0.01, level).word == "cannot tell"
    assert compared(0, "", level[:1] + 0.01, level[:1]).word == "cannot tell", "one run tells nothing"


def test_every_arm_can_be_made_and_is_explained() -> None:
    for name, arm in ARMS.items():
        Annotated(judge="forest", **arm.choices)
        assert arm.about, name


def test_a_stored_run_is_taken_only_if_the_same_choices_made_it() -> None:
    plain = _stamp(Settings(runs=5), "proposed")
    assert plain == _stamp(Settings(runs=3, ablations=()), "proposed")
    assert plain != _stamp(Settings(runs=5, trees=41), "proposed")
    assert plain != _stamp(Settings(runs=5), "flat")
