"""`evaluate` and `compare` as a person runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from command import COMMAND

SYNTH = ("synth", "patients.csv", "--schema", "patients.toml", "--method", "independent", "--out", "doubles")
EVALUATE = ("evaluate", "patients.csv", "doubles/synthetic.csv", "--schema", "patients.toml", "--no-learning")


def test_a_report_is_written_outside_the_release(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run(*SYNTH)
    told = run(*EVALUATE, "--model", "doubles/model.kage", "--query", "age > 60")
    assert "INTERNAL" in told.stdout
    assert (tmp_path / "synthetic-INTERNAL.html").exists()
    assert not list((tmp_path / "doubles").glob("*INTERNAL*"))
    assert "CANARY" not in (tmp_path / "synthetic-INTERNAL.html").read_text()
    refused = run(*EVALUATE, "--out", "doubles/report.html", code=2)
    assert "holds a release" in refused.stderr
    data = json.loads(run(*EVALUATE, "--json").stdout)
    assert data["INTERNAL"]
    assert 0 <= data["k-way error"]["2"]["mean"] <= 2


def test_bad_input_is_named_without_values(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run(*SYNTH)
    (tmp_path / "other.csv").write_text("colour,size\nCANARY,1\n")
    (tmp_path / "empty.csv").write_text("sex,age,seen\n")
    refused = run("evaluate", "patients.csv", "other.csv", "--schema", "patients.toml", code=3)
    assert "lacks column 'sex'" in refused.stderr
    assert "CANARY" not in refused.stderr
    assert "no rows" in run("evaluate", "patients.csv", "empty.csv", "--schema", "patients.toml", code=4).stderr
    assert "no column named 'income'" in run(*EVALUATE, "--target", "income", code=2).stderr
    assert "--learner 'forest'" in run(*EVALUATE, "--learner", "forest", code=2).stderr
    assert ".html" in run(*EVALUATE, "--out", "report.pdf", code=2).stderr
    assert "no such file" in run(*EVALUATE, "--model", "none.kage", code=4).stderr.lower()


def test_compare_runs_and_goes_on(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    command = ("compare", "patients.csv", "--schema", "patients.toml", "--methods", "independent,mst", "--out", "cmp")
    told = run(*command, "--epsilons", "1,10", "--repeat", 1, "--jobs", 1)
    assert "INTERNAL" in told.stdout
    assert (tmp_path / "cmp" / "comparison-INTERNAL.html").exists()
    more = json.loads(run(*command, "--epsilons", "1,10", "--repeat", 2, "--jobs", 1, "--json").stdout)
    assert {line["runs"] for line in more["lines"]} == {2}
    assert len(list((tmp_path / "cmp" / "cells").iterdir())) == 8
    assert "numbers with commas" in run(*command, "--epsilons", "one", code=2).stderr
    assert not (tmp_path / "kagemusha-ledger.db").exists()


def test_a_comparison_that_is_stopped_keeps_its_fits(patients: Path, tmp_path: Path) -> None:
    command = ["compare", "patients.csv", "--schema", "patients.toml", "--methods", "mst", "--out", "cmp"]
    running = subprocess.Popen(
        [*COMMAND, *command, "--repeat", "20000", "--jobs", "1"],  # hours: only the stop ends it
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        give_up = time.monotonic() + 60
        while not list((tmp_path / "cmp" / "cells").glob("*.json")) and time.monotonic() < give_up:
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "fits are kept" in told
    assert not list((tmp_path / "cmp" / "cells").glob("*.part"))
