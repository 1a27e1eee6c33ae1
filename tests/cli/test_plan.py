"""`plan` on the command line: open schemas, wanted errors; and what README says comes after `--discover`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kagemusha.schema import Schema


@pytest.fixture
def kinds(run, patients: Path, tmp_path: Path) -> Path:  # type: ignore[no-untyped-def]
    run("schema", "propose", "patients.csv", "--open", "--out", "kinds.toml")
    Schema.load(tmp_path / "kinds.toml").confirm().save(tmp_path / "kinds.toml")
    return tmp_path / "kinds.toml"


def test_an_open_schema_can_be_planned(run, kinds: Path) -> None:  # type: ignore[no-untyped-def]
    assert "kagemusha plan kinds.toml --discover 0.05" in run("plan", "kinds.toml", code=2).stderr
    told = json.loads(run("plan", "kinds.toml", "--discover", 0.1, "--rows", 300, "--json").stdout)
    assert told["split"]["discovery of categories and bounds"] == 0.1
    assert told["open"]
    assert told["error"] > 0
    for which in ("about", "at_most"):
        assert sum(part[which] for part in told["phases"].values()) == pytest.approx(told["seconds"][which])
    assert told["seconds"]["about"] < told["seconds"]["at_most"]
    shown = run("plan", "kinds.toml", "--discover", 0.1).stdout
    assert "Open" in shown
    assert "about" in shown
    assert "at most" in shown
    assert "nothing to find" in run("plan", "patients.toml", "--discover", 0.1, code=2).stderr


def test_after_discovery_the_next_command_works(run, kinds: Path) -> None:  # type: ignore[no-untyped-def]
    common = ("--method", "independent", "--discover", 0.2, "--epsilon", 20)
    run("synth", "patients.csv", "--schema", "kinds.toml", *common, "--out", "doubles")
    evaluate = ("evaluate", "patients.csv", "doubles/synthetic.csv", "--no-learning")
    told = run(*evaluate, "--schema", "kinds.toml", "--out", "internal/report.html")
    assert "doubles/schema.toml" in told.stderr
    run(*evaluate, "--out", "internal/again.html")
    (kinds.parent / "alone.csv").write_bytes((kinds.parent / "doubles" / "synthetic.csv").read_bytes())
    refused = run("evaluate", "patients.csv", "alone.csv", "--schema", "kinds.toml", code=2).stderr
    assert "schema.toml" in refused
    assert "--schema is needed" in run("evaluate", "patients.csv", "alone.csv", code=2).stderr


def test_a_wanted_error_is_solved_for(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    ask = ("plan", "patients.toml", "--method", "independent", "--error", 0.3)
    told = json.loads(run(*ask, "--rows", 2000, "--pairs", "sex,age", "--json").stdout)
    assert told["budget"]["epsilon"] == told["solved"]["epsilon"]
    assert told["solved"]["tried"]
    assert "ε = " in run(*ask, "--rows", 2000).stdout
    assert "--rows" in run(*ask, code=2).stderr
    assert "--error" in run("plan", "patients.toml", "--pairs", "sex,age", code=2).stderr
    assert "less than 2" in run(*ask[:-1], 3, "--rows", 10, code=2).stderr


def test_a_released_model_can_stand_in(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    common = ("--method", "independent")
    run("synth", "patients.csv", "--schema", "patients.toml", *common, "--out", "doubles")
    told = run("plan", "patients.toml", *common, "--error", 0.4, "--like", "doubles/model.kage").stdout
    assert "model.kage" in told
    run("plan", "patients.toml", *common, "--error", 0.4, "--like", "doubles/synthetic.csv")
    where = run("sample", "doubles/model.kage", "--rows", 5, "--where", "sex = 'F'", "--out", "some.csv").stdout
    assert "The group: about" in where
