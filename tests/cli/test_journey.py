"""The custodian's Monday morning, command by command."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from kagemusha.synthesizers.registry import names

SYNTH = ("synth", "patients.csv", "--schema", "patients.toml", "--method", "independent")


def test_from_a_csv_to_a_verified_release(run_process, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run_process("plan", "patients.toml", "--epsilon", 1, "--rows", 300)
    told = json.loads(run_process(*SYNTH, "--out", "doubles", "--json").stdout)
    assert told["epsilon"] == 1.0
    folder = tmp_path / "doubles"
    assert {f.name for f in folder.iterdir()} == {
        "synthetic.csv",
        "certificate.json",
        "certificate.html",
        "quality.json",
        "quality.html",
        "schema.toml",
        "model.kage",
    }
    with (folder / "synthetic.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["sex", "age", "seen"]
    assert {row["sex"] for row in rows} <= {"F", "M", "other"}
    assert all(0 <= int(row["age"]) <= 99 for row in rows)
    assert all(re.fullmatch(r"(\d\d/\d\d/\d{4})?", row["seen"]) for row in rows)
    assert any(row["seen"] == "" for row in rows)
    run_process("verify", "doubles", "--ledger", "kagemusha-ledger.db")
    run_process("sample", "doubles/model.kage", "--rows", 50, "--out", "more.parquet")
    assert (tmp_path / "more.parquet").exists()
    run_process("sample", "doubles", "--rows", 50, "--out", "again.csv")  # the folder of the release will do
    assert (tmp_path / "again.csv").exists()
    for path in [*folder.iterdir(), tmp_path / "kagemusha-ledger.db"]:
        assert b"CANARY" not in path.read_bytes(), f"a real value in {path.name}"


def test_a_retry_spends_nothing_and_a_new_key_needs_room(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert "nothing was spent" not in run(*SYNTH, "--out", "one").stdout

    def spent() -> list[tuple[str, int, int]]:
        return [
            (r["id"], r["charged"], r["held"]) for r in json.loads(run("ledger", "show", "--json").stdout)["releases"]
        ]

    before = spent()
    again = run(*SYNTH, "--out", "two")
    assert "nothing was spent" in again.stdout
    assert spent() == before
    for folder in ("one", "two"):  # both tables went out under this release, and the ledger knows both certificates
        run("verify", folder, "--ledger", "kagemusha-ledger.db")
    models = [json.loads((tmp_path / d / "certificate.json").read_text())["events"] for d in ("one", "two")]
    assert models[0] == models[1]
    refused = run(*SYNTH, "--out", "three", "--key", "another", code=5)
    assert "cap" in refused.stderr
    assert not (tmp_path / "three").exists()
    run("ledger", "cap", "patients.csv", "--epsilon", 3)
    run(*SYNTH, "--out", "three", "--key", "another")
    exported = json.loads(run("ledger", "export").stdout)
    assert len(exported["releases"]) == 2
    assert exported["releases"][0]["steps"]


@pytest.mark.parametrize("name", ["certificate.json", "synthetic.csv", "schema.toml", "model.kage", "certificate.html"])
def test_verify_names_the_edited_file(run, patients: Path, tmp_path: Path, name: str) -> None:  # type: ignore[no-untyped-def]
    run(*SYNTH, "--out", "doubles")
    path = tmp_path / "doubles" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    failed = run("verify", "doubles", code=8)
    assert name in failed.stderr


def test_a_seed_makes_a_simulation_and_says_so(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    assert "seed" in run(*SYNTH, "--seed", 1, code=2).stderr
    told = run(*SYNTH, "--seed", 1, "--simulation")
    assert "∞" in told.stdout


def test_a_proposed_schema_is_marked_checked_and_refused(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("schema", "propose", "patients.csv", "--out", "draft.toml")
    checked = run("schema", "check", "draft.toml", code=3)
    assert "age" in checked.stdout
    refused = run("synth", "patients.csv", "--schema", "draft.toml", "--method", "independent", code=5)
    assert "taken from the data" in refused.stderr
    assert not (tmp_path / "kagemusha-ledger.db").exists()
    run("synth", "patients.csv", "--schema", "draft.toml", "--method", "independent", "--allow-derived")
    assert "∞" in run("verify", "patients-doubles").stdout


def test_account_answers_both_ways(run) -> None:  # type: ignore[no-untyped-def]
    cost = json.loads(run("account", "noise", "--scale", 30, "--times", 9, "--json").stdout)["epsilon"]
    scale = json.loads(run("account", "buy", "--epsilon", cost["gdp"], "--times", 9, "--json").stdout)["scale"]
    assert scale["gdp"] == pytest.approx(30, rel=1e-4)
    rows = json.loads(run("account", "explain", "--epsilon", 1, "--json").stdout)
    assert all(r["true positive rate"] > r["false positive rate"] for r in rows)


def test_plan_speaks_json_for_every_method(run, patients: Path) -> None:  # type: ignore[no-untyped-def]
    for name in names():
        told = json.loads(run("plan", "patients.toml", "--method", name, "--json").stdout)
        assert told["cells"] > 0
