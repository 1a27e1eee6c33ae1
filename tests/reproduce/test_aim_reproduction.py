"""The AIM paper's reproduction.

On small constructed tables it runs whole, goes on where it was, and its claims can fail.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from kagemusha.quality.projectable import CodedTable
from kagemusha.reproduce import aim, aim_runs
from kagemusha.reproduce.aim_claims import (
    ClaimCell,
    contradictions,
    error_claims,
    information_claims,
    step_claims,
)
from kagemusha.reproduce.aim_page import FIGURES, RUNS, STEPS, Report
from kagemusha.reproduce.aim_runs import ARMS, Result, all_runs, jobs, read_runs, settings_of
from kagemusha.reproduce.aim_steps import BudgetCurve, ChosenStep, Steps
from kagemusha.reproduce.claims import FAILS, HOLDS, OPEN
from kagemusha.reproduce.pages import PAGE
from kagemusha.reproduce.paper_tables import PaperTable
from kagemusha.schema import Category, Schema


def small(name: str, *, rows: int = 400, domain: str = "seen") -> PaperTable:
    """Four columns that follow one hidden number."""
    rng = np.random.default_rng(len(name))
    hidden = rng.random(rows)
    sizes = {"a": 2, "b": 3, "c": 3, "income" if name == "adult" else "y": 2}
    codes = [np.where(rng.random(rows) < 0.7, hidden, rng.random(rows)) * n // 1 for n in sizes.values()]
    more = domain == "table 1"
    schema = Schema(
        Category(n, categories=tuple(map(str, range(s + more))), out_of_domain="clip") for n, s in sizes.items()
    )
    return PaperTable(name, CodedTable.of_codes(schema, np.stack(codes, 1).astype(np.int64)), schema, list(sizes)[-1])


def test_everything_is_written_and_a_second_run_takes_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aim, "load", small)
    told: list[float] = []
    report = aim.reproduce(tmp_path, quick=True, progress=lambda _, done: told.append(done))
    assert told == sorted(told)
    for name in (*FIGURES, PAGE, RUNS, STEPS):
        assert (tmp_path / name).stat().st_size > 200, name
    text = (tmp_path / PAGE).read_text()
    assert all(claim.text in text for claim in report.claims)
    assert len(read_runs(tmp_path / RUNS)) == 2 * len(jobs(2, 1, aim.QUICK_EPSILONS))
    drawn = (tmp_path / FIGURES[0]).read_bytes()
    monkeypatch.setattr(aim_runs, "run_one", None)
    monkeypatch.setattr(aim, "inside", None)
    again = aim.reproduce(tmp_path, quick=True)
    assert again.results == report.results
    assert (tmp_path / PAGE).read_text() == text == Report.read(tmp_path).write(tmp_path)
    assert (tmp_path / FIGURES[0]).read_bytes() == drawn


def test_runs_of_other_code_or_other_choices_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def run_one(table: PaperTable, source: object, arm: object, epsilon: float, seed: int, *, learners) -> Result:  # type: ignore[no-untyped-def]
        made.append(arm.name)  # type: ignore[attr-defined]
        code = aim_runs.code_digests()[arm.method]  # type: ignore[attr-defined]
        return replace(result(arm.name, 0.1, seed=seed), settings=settings_of(arm, learners), code=code)  # type: ignore[arg-type,attr-defined]

    monkeypatch.setattr(aim_runs, "run_one", run_one)
    tables = {"adult": {kind: small("adult", domain=kind) for kind in ("seen", "table 1")}}

    def run(learners: tuple[str, ...] = ()) -> int:
        made.clear()
        all_runs(tables, tmp_path / RUNS, jobs(1, 0), learners=learners, progress=lambda *_: None)
        return len(made)

    assert run() == len(ARMS)
    assert run() == 0
    assert run(("tree",)) == sum(arm.learners for arm in ARMS), "arms that learners score"
    monkeypatch.setattr(aim_runs, "code_digests", lambda: dict.fromkeys(aim_runs.PLACES, "another"))
    assert run(("tree",)) == len(ARMS)
    (tmp_path / RUNS).write_text((tmp_path / RUNS).read_text()[:-40])
    assert run(("tree",)) == 1, "a line that a crash cut off"


def result(arm: str, error: float, *, seed: int = 0, information: float = 0.1, kept: float = 0.9) -> Result:
    return Result("adult", arm, 1.0, seed, (error,) * 3, information, (0.0,), kept, {}, 3, 2, 0.1, "0", "0" * 16, {})


GOOD = {"aim-k2": 0.03, "aim-k3": 0.035, "aim-noinit": 0.03, "aim-lap": 0.06, "bayes": 0.08}


def verdicts(**changed: float) -> dict[str, str]:
    errors = {**GOOD, **{name.replace("_", "-"): value for name, value in changed.items()}}
    runs = [result(m, e + 0.0005 * (seed % 3), seed=seed) for m, e in errors.items() for seed in range(6)]
    return {claim.text.partition(" by more")[0]: claim.verdict for claim in error_claims("adult", runs)}


def test_claims_on_errors_hold_and_fail_one_by_one() -> None:
    assert set(verdicts().values()) == {HOLDS}
    assert verdicts(aim_lap=0.09)["2-way error: aim-lap is better than PrivBayes"] == FAILS
    assert verdicts(aim_k3=0.02)["2-way error: aim-k2 is better than aim-k3"] == FAILS
    assert verdicts(aim_k3=0.03)["2-way error: aim-k2 is better than aim-k3"] == OPEN
    assert verdicts(aim_noinit=0.032)["2-way error: aim-noinit and aim-k2 do not differ"] == FAILS
    assert verdicts(aim_lap=0.03)["2-way error: aim-lap is the worst AIM: aim-k3 is better"] == FAILS


def test_cells_of_the_tables_agree_or_not() -> None:
    cell = ClaimCell("adult", "tree", "aim-k2", (0.8190, 0.0003), 30, 0.8200, 0.0001)
    assert cell.verdict == "higher"
    assert replace(cell, mean=0.8191).verdict == "agrees"
    assert replace(cell, mean=0.8180).verdict == "lower"
    assert len(contradictions()) == 3, "Table 3 has lap below bayes for every learner"


def test_claims_on_information_and_steps_hold_and_fail() -> None:
    gaps = {"aim-k2": 0.1, "aim-noinit": 0.1, "bayes": 0.3}
    runs = [result(m, 0.1, seed=s, information=i + 0.001 * s) for m, i in gaps.items() for s in range(4)]
    assert {c.verdict for c in information_claims("adult", runs)} == {HOLDS}
    same = [replace(r, information_error=0.1 + 0.001 * r.seed, kept=0.5 + 0.001 * r.seed) for r in runs]
    assert [c.verdict for c in information_claims("adult", same)] == [
        OPEN,
        FAILS,
        OPEN,
        FAILS,
        HOLDS,
        FAILS,
        FAILS,
        FAILS,
    ]
    near, far = BudgetCurve([1], [1.09], [1.0], [1.05]), BudgetCurve([1, 2], [1.2, 1.0], [1.0, 1.0], [1.1, 1.0])
    good = Steps(
        ("a", "b", "c"),
        ((0.0,) * 3,),
        (("a", "b", "c"),),
        {"x": near},
        {"x": [2, 2]},
        [[(0, 1.0, 1.0, 1.0), (1, 0.1 * s, 1.0, 1.0), (2, 0.1, 1.0, 1.0)] for s in (1.0, 1.1, 1.2, 1.1)],
        1,
        [ChosenStep([("a", "b"), p], 0.1 + e, 0.2) for p, e in ((("a", "c"), 0.0), (("a", "b"), 0.001))],
        "0",
        "0",
    )
    bad = replace(
        good,
        curves={"x": far},
        paces={"x": [2, 3]},
        choices=[replace(c, other_error=0.05) for c in good.choices[:1] * 2],
    )
    assert [c.verdict for c in step_claims(replace(good, names=("a", "b", "c", "d")))] == [HOLDS] * 5
    assert [c.verdict for c in step_claims(bad)][:2] == [FAILS, OPEN]
    assert Steps.from_json(good.to_json()) == good
    assert json.loads(good.to_json())["paces"] == asdict(good)["paces"]
