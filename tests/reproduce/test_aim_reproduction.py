"""The AIM paper's reproduction: on small made tables it runs whole, goes on where it was, and its claims can fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kagemusha.quality.projectable import CodedTable
from kagemusha.reproduce import aim, aim_runs
from kagemusha.reproduce.aim_claims import error_claims, information_claims, step_claims
from kagemusha.reproduce.aim_runs import METHODS, Result, all_runs
from kagemusha.reproduce.aim_steps import BudgetCurve, Choice
from kagemusha.reproduce.paper_tables import PaperTable
from kagemusha.schema import Category, Schema


def small(name: str, *, rows: int = 500) -> PaperTable:
    """Five columns that follow one hidden number."""
    rng = np.random.default_rng(len(name))
    hidden = rng.random(rows)
    sizes = {"a": 2, "b": 3, "c": 4, "d": 3, "income" if name == "adult" else "y": 2}
    codes = [np.where(rng.random(rows) < 0.7, hidden, rng.random(rows)) * n // 1 for n in sizes.values()]
    schema = Schema(Category(n, categories=tuple(map(str, range(s))), out_of_domain="clip") for n, s in sizes.items())
    return PaperTable(name, CodedTable.of_codes(schema, np.stack(codes, 1).astype(np.int64)), schema, list(sizes)[-1])


def test_everything_is_written_and_a_second_run_takes_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aim, "load", small)
    told: list[float] = []
    report = aim.reproduce(tmp_path, quick=True, progress=lambda _, done: told.append(done))
    assert told == sorted(told)
    for name in (*(f"figure-{i}.svg" for i in range(1, 9)), "report.md", "runs.csv"):
        assert (tmp_path / name).stat().st_size > 200, name
    text = (tmp_path / "report.md").read_text()
    assert all(claim.text in text for claim in report.claims)
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 1 + 2 * 2 * len(METHODS)
    monkeypatch.setattr(aim_runs, "run_one", None)
    again = aim.reproduce(tmp_path, quick=True)
    assert again.results == report.results


def test_runs_of_other_code_or_other_choices_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def run_one(table: PaperTable, source: object, method: str, seed: int, **_: object) -> Result:
        made.append(method)
        return result(method, 0.1, seed=seed)

    monkeypatch.setattr(aim_runs, "run_one", run_one)

    def run(learners: tuple[str, ...] = ()) -> int:
        made.clear()
        all_runs(small("adult"), tmp_path, repeat=1, learners=learners, quick=False, progress=lambda *_: None)
        return len(made)

    assert run() == len(METHODS)
    assert run() == 0
    assert run(("tree",)) == len(METHODS)
    monkeypatch.setattr(aim_runs, "code_digest", lambda: "another")
    assert run(("tree",)) == len(METHODS)
    (one, *_) = tmp_path.glob("*.json")
    one.write_text(json.dumps({k: v for k, v in json.loads(one.read_text()).items() if k != "stamp"}))
    assert run(("tree",)) == 1, "files of earlier versions carry no stamp"


def result(method: str, error: float, *, seed: int = 0, information: float = 0.1) -> Result:
    return Result(method, seed, (error, error, error), {}, [[0.0]], information)


GOOD = {"aim-k2": 0.03, "aim-k3": 0.035, "aim-noinit": 0.03, "aim-lap": 0.06, "bayes": 0.05, "kage": 0.02}


def verdicts(**changed: float) -> list[bool]:
    errors = {**GOOD, **{name.replace("_", "-"): value for name, value in changed.items()}}
    runs = [result(m, e + 0.0005 * seed, seed=seed) for m, e in errors.items() for seed in range(3)]
    return [claim.holds for claim in error_claims("adult", runs)]


def test_claims_on_errors_hold_and_fail_one_by_one() -> None:
    assert verdicts() == [True, True, True, True]
    assert verdicts(bayes=0.034) == [False, True, True, True]
    assert verdicts(aim_k3=0.02) == [True, False, True, True]
    assert verdicts(aim_noinit=0.036) == [True, True, False, True]
    assert verdicts(aim_lap=0.032) == [True, True, True, False]


def test_claims_on_information_and_steps_hold_and_fail() -> None:
    runs = [result(m, 0.1, information=i) for m, i in {"aim-k2": 0.1, "aim-noinit": 0.1, "bayes": 0.2}.items()]
    assert information_claims("adult", runs)[0].holds
    assert not information_claims("adult", [replace(r, information_error=0.1) for r in runs])[0].holds
    near, far = (BudgetCurve([1], [top], [1.0], [1.05]) for top in (1.09, 1.11))
    better, worse = Choice([], 0.1, 0.2), Choice([], 0.2, 0.1)
    assert [c.holds for c in step_claims({(1.0, 2): near}, [better])] == [True, True]
    assert [c.holds for c in step_claims({(1.0, 2): near, (5.0, 2): far}, [better, worse])] == [False, False]
