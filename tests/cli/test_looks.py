"""`evaluate`, `compare` and `attack` read the table as it is: its ledger is told first, and its owner can forbid it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Run
from kagemusha.errors import CapReached

SYNTH = ("synth", "patients.csv", "--schema", "patients.toml", "--method", "independent", "--out", "doubles")

LOOKS = {
    "evaluate": ("evaluate", "patients.csv", "doubles/synthetic.csv", "--no-learning"),
    "compare": (
        *("compare", "patients.csv", "-s", "doubles/schema.toml", "--methods", "independent", "--epsilons", "1"),
        *("--repeat", 1, "--out", "cmp", "--jobs", 1),
    ),
    "attack": (
        *("attack", "patients.csv", "--release", "doubles", "--trainings", 4, "--references", 2, "--targets", "random"),
        *("--attacks", "neighbour", "--jobs", 1),
    ),
}


def releases(run: Run, *where: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run("ledger", "show", "--json", *where).stdout)["releases"]
    return found


@pytest.mark.parametrize("command", LOOKS)
def test_a_look_stands_in_the_ledger(run: Run, patients: Path, command: str) -> None:
    run(*SYNTH)
    told = run(*LOOKS[command]).stderr
    assert "no ledger knows" not in told
    look = releases(run)[-1]
    assert (look["method"], look["epsilon"], look["state"], look["dataset"]) == (
        command, "inf", "closed", str(patients),
    )  # fmt: skip
    run(*LOOKS[command])
    assert [r["method"] for r in releases(run)].count(command) == 2, "each look is one of its own"
    run("ledger", "check", patients)


@pytest.mark.parametrize("command", LOOKS)
def test_an_owner_can_forbid_looks(run: Run, patients: Path, tmp_path: Path, command: str) -> None:
    run(*SYNTH)
    run("ledger", "allow-looks", "patients.csv", "--forbid")
    before = set(tmp_path.glob("[!k]*"))
    refused = run(*LOOKS[command], code=CapReached.exit_code).stderr
    assert "ledger allow-looks" in refused
    assert [r["method"] for r in releases(run)] == ["independent"]
    assert set(tmp_path.glob("[!k]*")) == before, "nothing was written"
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / "patients.csv"
    copy.write_bytes(patients.read_bytes())
    line = [copy if word == "patients.csv" else word for word in LOOKS[command]]
    assert "the same table as" in run(*line, "--ledger", "kagemusha-ledger.db", code=CapReached.exit_code).stderr
    run("ledger", "cap", "patients.csv", "--epsilon", 3)
    assert not json.loads(run("ledger", "show", "--json").stdout)["caps"][0]["looks"], "a new size is no other word"
    run(*LOOKS[command], code=CapReached.exit_code)
    run("ledger", "allow-looks", "patients.csv")
    run(*LOOKS[command])


def test_where_nobody_keeps_a_ledger_that_is_said(run: Run, patients: Path, tmp_path: Path) -> None:
    run(*SYNTH, "--ledger", "elsewhere.db")
    assert "no ledger knows this table" in run(*LOOKS["evaluate"]).stderr
    assert not (tmp_path / "kagemusha-ledger.db").exists()
    assert "no ledger" not in run(*LOOKS["evaluate"], "--ledger", "new.db").stderr
    assert [r["method"] for r in releases(run, "--ledger", "new.db")] == ["evaluate"]
    run(*SYNTH, "--ledger", "new.db", "--force")  # a look takes nothing from the cap that comes later


def test_a_broken_promise_of_another_kind_still_needs_the_owners_word(run: Run, patients: Path) -> None:
    """What leaves the house is no look."""
    run(*SYNTH)
    line = ("synth", "patients.csv", "--schema", "patients.toml", "--out", "x", "--seed", 1, "--simulation")
    assert "allow-unprotected" in run(*line, "-m", "independent", code=CapReached.exit_code).stderr
