"""Comparisons: every cell kept, nothing run twice, nothing lost when it is stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kagemusha.errors import DataError, ModelTooLarge, UsageError
from kagemusha.evaluation import compare as module
from kagemusha.evaluation.compare import Comparison, run_comparison
from kagemusha.evaluation.compare_report import summarise, write_comparison
from kagemusha.schema import Schema

from .tables import make_table

QUICK = Comparison(methods=("independent", "mst"), epsilons=(0.5, 5.0), repeat=2, kmax=2)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "real.csv"
    make_table(400, 1).to_csv(path, index=False)
    return path


def test_cells_are_files_and_are_never_run_again(
    table: Path, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1)
    assert len(list((tmp_path / "out" / "cells").glob("*.json"))) == len(first) == 8
    assert "INTERNAL" in json.loads((tmp_path / "out" / "cells" / "mst-0.5-0.json").read_text())

    def never(*_: Any) -> Any:
        raise AssertionError("a finished cell was run again")

    monkeypatch.setattr(module, "_measure", never)
    again = run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1)
    assert [r.scores for r in again] == [r.scores for r in first]


def test_an_interruption_loses_nothing(
    table: Path, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = module._measure, []

    def third_time_interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(module, "_measure", third_time_interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1)
    assert len(list((tmp_path / "out" / "cells").glob("*.json"))) == 2
    assert len(run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1)) == 8
    assert len(calls) == 3 + 6


def test_more_methods_may_be_added_but_not_another_table_or_version(
    table: Path, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Comparison(methods=("independent",), epsilons=(1.0,), repeat=1, kmax=2)
    run_comparison(small, table, schema, tmp_path / "out", jobs=1)
    larger = Comparison(methods=("independent", "mst"), epsilons=(1.0,), repeat=1, kmax=2)
    assert len(run_comparison(larger, table, schema, tmp_path / "out", jobs=1)) == 2
    with monkeypatch.context() as upgraded:
        upgraded.setattr(module, "__version__", "99.0.0")
        with pytest.raises(DataError, match="of other data"):
            run_comparison(larger, table, schema, tmp_path / "out", jobs=1)
    make_table(400, 2).to_csv(table, index=False)  # as many rows
    with pytest.raises(DataError, match="of other data"):
        run_comparison(larger, table, schema, tmp_path / "out", jobs=1)


def test_a_method_that_fails_is_reported_and_tried_again(
    table: Path, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: Any) -> Any:
        raise ModelTooLarge("the model would need 9 cells")

    with monkeypatch.context() as patched:
        patched.setattr(module, "_measure", too_large)
        results = run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1)
    assert all(r.error for r in results)
    files = write_comparison(results, tmp_path / "out", title="real.csv")
    assert "9 cells" in files[0].read_text()
    assert not any(r.error for r in run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1))


def test_error_falls_with_epsilon_and_the_page_draws_it(table: Path, schema: Schema, tmp_path: Path) -> None:
    results = run_comparison(QUICK, table, schema, tmp_path / "out", jobs=1)
    lines = {(one.score, one.method, one.epsilon): one for one in summarise(results)}
    assert lines["1-way error", "mst", 5.0].mean < lines["1-way error", "mst", 0.5].mean
    assert lines["2-way error", "mst", 5.0].runs == 2
    assert lines["2-way error", "mst", 5.0].sd > 0
    page, table_file, _ = write_comparison(results, tmp_path / "out", title="real.csv")
    assert "INTERNAL" in page.name
    text = page.read_text()
    assert "simulated fits" in text
    assert text.count("<svg") > 4
    assert table_file.read_text().startswith("score,method,epsilon,mean,sd,runs")


def test_the_same_seed_gives_the_same_numbers(table: Path, schema: Schema, tmp_path: Path) -> None:
    runs = [run_comparison(QUICK, table, schema, tmp_path / name, jobs=1) for name in ("a", "b")]
    errors = [[r.scores["2-way error"] for r in one] for one in runs]
    assert errors[0] == errors[1]


@pytest.mark.slow
def test_cells_run_in_parallel(table: Path, schema: Schema, tmp_path: Path) -> None:
    assert len(run_comparison(QUICK, table, schema, tmp_path / "out", jobs=2)) == 8


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"methods": ()}, "at least one method"),
        ({"methods": ("amst",)}, "did you mean"),
        ({"epsilons": (-1.0,)}, "positive"),
        ({"repeat": 0}, "at least 1"),
    ],
)
def test_mistakes_are_named_before_anything_runs(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Comparison(**{"methods": ("mst",), "epsilons": (1.0,), **changes})


def test_a_cluster_finds_the_same(table: Path, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the workers of a dask scheduler: the same scores, kept here as they come, nothing run twice."""
    distributed = pytest.importorskip("distributed")
    few = Comparison(methods=("independent", "mst"), epsilons=(1.0,), repeat=1, kmax=2)
    here = run_comparison(few, table, schema, tmp_path / "here", jobs=1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=None
    ) as cluster:
        there = run_comparison(few, table, schema, tmp_path / "there", scheduler=cluster.scheduler_address)
        assert len(list((tmp_path / "there" / "cells").glob("*.json"))) == 2
        cluster.scale(0)
        again = run_comparison(few, table, schema, tmp_path / "there", jobs=1)
        with pytest.raises(UsageError, match="no workers"):
            run_comparison(few, table, schema, tmp_path / "else", scheduler=cluster.scheduler_address)
    for one, other in zip(here, there, strict=True):
        assert {**one.scores, "fit seconds": 0.0} == {**other.scores, "fit seconds": 0.0}
    assert [r.scores for r in again] == [r.scores for r in there]
    monkeypatch.setattr("kagemusha.cluster.PATIENCE", 1)
    with pytest.raises(UsageError, match="cannot be reached"):
        run_comparison(few, table, schema, tmp_path / "other", scheduler="tcp://127.0.0.1:9")
