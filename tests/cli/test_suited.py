"""Without a method the declared schema decides, and `plan` says why."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kagemusha
from command import Run
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.schema.images import image_schema
from kagemusha.synthesizers.suited import MANY_NUMBERS, suited

NUMBERS = [Real(f"x{i}", lower=-4.0, upper=4.0, bins=32) for i in range(MANY_NUMBERS)]
KIND = Category("kind", categories=("a", "b"), out_of_domain="clip")


@pytest.mark.parametrize(
    ("schema", "method", "why"),
    [
        (Schema([*NUMBERS, KIND], target="kind"), "nigao", "24 of 25 columns are numbers"),
        (Schema([*NUMBERS, KIND]), "kage", "no column to predict is named"),
        (Schema([*NUMBERS[1:], KIND], target="kind"), "kage", "23 of 24 columns are numbers"),
        (image_schema(5, 5, classes=3), "nigao", "5 × 5"),
        (Schema([Integer(f"x{i}", lower=0, upper=7) for i in range(60)]), "kage", "0 of 60"),
        (Schema([*NUMBERS, *(Category(f"c{i}", categories=("a", "b")) for i in range(30))]), "kage", "24 of 54"),
        (Schema([*(Real(f"x{i}") for i in range(30)), KIND], target="kind"), "nigao", "30 of 31"),
    ],
)
def test_the_schema_decides(schema: Schema, method: str, why: str) -> None:
    found = suited(schema)
    assert found.method == method
    assert why in found.why
    if "24 of 25" in found.why or "30 of 31" in found.why:
        other = "kage" if method == "nigao" else "nigao"
        assert f"--method {other}" in found.why, "what is given up, and how to have it"
    assert ("fewer than 24" in found.why) == ("23 of 24" in found.why or "0 of 60" in found.why)


def test_plan_and_synth_agree_and_a_named_method_wins(run: Run, tmp_path: Path) -> None:
    schema = Schema([*NUMBERS, KIND], target="kind")
    schema.save(tmp_path / "s.toml")
    rng = np.random.default_rng(0)
    lines = [",".join([*(f"{v:.2f}" for v in rng.normal(0, 1, len(NUMBERS))), "ab"[i % 2]]) for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(schema.names), *lines]))
    told = run("plan", str(tmp_path / "s.toml"))
    assert "nigao" in told.stdout
    assert "24 of 25 columns are numbers" in told.stdout
    assert json.loads(run("plan", str(tmp_path / "s.toml"), "--json").stdout)["method"] == "nigao"
    named = run("plan", str(tmp_path / "s.toml"), "--method", "kage").stdout
    assert "Why" not in named
    for i, (extra, method) in enumerate([((), "nigao"), (("--method", "independent"), "independent")]):
        out = tmp_path / f"out{i}"
        done = run(
            "synth",
            str(tmp_path / "t.csv"),
            "--schema",
            str(tmp_path / "s.toml"),
            "--out",
            str(out),
            "--json",
            "--ledger",
            str(tmp_path / f"{i}.db"),
            *extra,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["method"] == method
        assert json.loads((out / "certificate.json").read_text())["method"]["name"] == method


@pytest.mark.parametrize(("numbers", "method"), [(MANY_NUMBERS, "nigao"), (3, "kage")])
def test_the_door_decides_as_the_command_does(run: Run, tmp_path: Path, numbers: int, method: str) -> None:
    import pandas as pd

    schema = Schema([*NUMBERS[:numbers], KIND], target="kind")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({c.name: rng.normal(0, 1, 100) for c in NUMBERS[:numbers]} | {"kind": ["a", "b"] * 50})
    frame.to_csv(tmp_path / "t.csv", index=False)
    schema.save(tmp_path / "s.toml")
    command = run("synth", "t.csv", "-s", "s.toml", "--out", "out", "--ledger", "a.db", "--json").stdout
    door = kagemusha.fit(None, frame, 1.0, schema=schema).certificate
    assert json.loads(command)["method"] == door.method == method
    written = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert json.loads(door.to_json())["method"] == written["method"], "with the same options"


def test_training_does_not_get_several_times_the_noise(run: Run, tmp_path: Path) -> None:
    schema = Schema([*NUMBERS[:3], KIND]).to_json()
    schema["columns"].append({"name": "who", "kind": "drop"})
    schema["unit"] = {"column": "who", "max_rows": 4}
    Schema.from_json(schema).save(tmp_path / "s.toml")
    summed = run("plan", str(tmp_path / "s.toml"), "--method", "kage").stdout
    assert "4 times the noise of a promise about single rows" in " ".join(summed.split())
    trained = " ".join(
        run("plan", str(tmp_path / "s.toml"), "--method", "p3gm", "-o", "rate=0.2", "-o", "epochs=1").stdout.split()
    )
    assert "clipped together in training" in trained
    assert "4 times the noise of a promise" not in trained
