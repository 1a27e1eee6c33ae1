"""A mistake of the program says where it happened, and quotes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Run, in_this_process

CANARY = "Zyxwv-canary-8417"


def test_what_an_exception_says_is_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from kagemusha.schema import Schema

    def fails(*_: object) -> Schema:
        try:
            int(CANARY)
        except ValueError as error:
            error.add_note(f"row {CANARY}")
            raise KeyError(CANARY) from error
        raise AssertionError

    monkeypatch.setattr(Schema, "load", fails)
    done = in_this_process(["schema", "check", str(tmp_path / "s.toml")])
    assert done.returncode == 1
    assert CANARY not in done.stdout + done.stderr
    assert "in fails" in done.stderr
    assert done.stderr.endswith("KeyError\n")
