"""From a file of which only kinds are known to a release: propose --open, confirm, synth --discover."""

from __future__ import annotations

import json
from pathlib import Path

from kagemusha.schema import Schema


def test_kinds_are_enough(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("schema", "propose", "patients.csv", "--open", "--out", "kinds.toml")
    draft = Schema.load(tmp_path / "kinds.toml")
    assert draft.open_facts()
    assert {fact.field for fact in draft.derived_facts()} <= {"kind", "format"}
    assert "CANARY" not in (tmp_path / "kinds.toml").read_text()
    draft.confirm().save(tmp_path / "kinds.toml")

    refused = run("synth", "patients.csv", "--schema", "kinds.toml", "--method", "independent", code=5)
    assert "--discover 0.05" in refused.stderr
    assert not (tmp_path / "kagemusha-ledger.db").exists()

    arguments = ("synth", "patients.csv", "--schema", "kinds.toml", "--method", "independent", "--discover", 0.2)
    # a few hundred rows need a large budget before their bounds stand out of the noise
    arguments += ("--epsilon", 20)
    run(*arguments, "--out", "found")
    run("verify", "found")
    certificate = json.loads((tmp_path / "found" / "certificate.json").read_text())
    assert certificate["method"]["parameters"]["discover"] == 0.2
    assert {e["kind"] for e in certificate["events"]} == {"threshold", "gaussian"}
    assert not Schema.load(tmp_path / "found" / "schema.toml").open_facts()
    for path in (tmp_path / "found").iterdir():
        assert b"CANARY" not in path.read_bytes(), path.name

    run(*arguments, "--out", "again")
    again = json.loads((tmp_path / "again" / "certificate.json").read_text())
    assert again["events"] == certificate["events"]
    assert again["schema digest"] == certificate["schema digest"]
