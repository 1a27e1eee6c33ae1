"""The page of the annotation paper: areas, claims that can fail, and a table of every arm."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.reproduce.annotation import Report
from kagemusha.reproduce.annotation_runs import EPSILONS, MAIN, Curve, Settings, area, at_mark


def curves(lift: float) -> list[Curve]:
    """Three runs in which the proposed arm is better by `lift`."""
    rng, made = np.random.default_rng(0), []
    for run in range(3):
        for epsilon in EPSILONS:
            for arm, level in {"ann": 0.84, "no-ann": 0.82, "no-ann relabelled": 0.84, "actual": 0.85}.items():
                made.append(Curve(1, arm, epsilon, run, [100], [level + 0.001 * rng.random()], 1.0))
            for arm in MAIN:
                level = 0.8 + lift * (arm == "proposed") + 0.001 * rng.random()
                made.append(Curve(2, arm, epsilon, run, [20, 50, 100], [level] * 3, 1.0))
        made.append(Curve(2, "actual", float("inf"), run, [20, 50, 100], [0.85] * 3, 0.0))
    return made


def test_the_area_is_the_mean_over_labels() -> None:
    assert area(Curve(2, "x", 1.0, 0, [0, 10, 20], [0.0, 1.0, 1.0], 0.0)) == pytest.approx(0.75)
    assert at_mark(curves(0.0), 50)[0] == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("lift", "verdict"), [(0.03, "holds"), (-0.03, "does not hold")])
def test_claims_can_hold_and_fail(lift: float, verdict: str) -> None:
    report = Report(curves(lift), Settings(runs=3, ablations=()))
    told = {claim.text: claim.word for claim in report.claims()}
    assert told["Proposed is above random at ε = 0.4 (area under the curve)"] == verdict
    assert told["Ann ≥ No-Ann at ε = 0.1"] == "holds"
    assert verdict in report.markdown()
