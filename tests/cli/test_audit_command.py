"""`kagemusha audit` as a person would run it."""

from __future__ import annotations

import json


def test_audit_tells_what_is_promised_and_what_is_proved(run) -> None:  # type: ignore[no-untyped-def]
    found = json.loads(run("audit", "--method", "independent", "--runs", 40, "--json").stdout)
    assert found["promised mu"] > found["proved"]["mu"] >= 0
    assert "not contradicted" in found["verdict"]
    assert "Promised" in run("audit", "--method", "independent", "--runs", 40).stdout


def test_wrong_questions_are_named(run) -> None:  # type: ignore[no-untyped-def]
    assert "--runs" in run("audit", "--runs", 3, code=2).stderr
    assert "protects nobody" in run("audit", "--method", "stat", code=2).stderr
