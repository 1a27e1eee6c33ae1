"""What is printed is what was given: brackets are no markup, infinity is JSON, and any screen will do."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from command import COMMAND
from kagemusha.cli.output import json_text, plain, say, say_table

NAMES = ["BMI [kg/m²]", "sex [/x]", "[red]age[/]", "a :smile: b"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_shown_letter_by_letter(capsys: pytest.CaptureFixture[str], name: str) -> None:
    say(f"[bold]{plain(name)}[/]: a column")
    say_table("", [name], [[name]])
    shown = capsys.readouterr().out
    assert f"{name}: a column" in shown
    assert shown.count(name) == 3


def test_columns_and_paths_with_brackets(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "s [bold].toml").write_text(
        'version = 1\n[columns."BMI [kg/m²]"]\nkind = "real"\nlower = 0.0\nupper = 99.0\nbins = 5\n'
        'derived = ["upper"]\n[columns."sex [/x]"]\nkind = "category"\ncategories = ["F", "M"]\n'
    )
    assert "BMI [kg/m²]" in run("schema", "check", "s [bold].toml", code=3).stdout
    planned = run("plan", "s [bold].toml").stdout
    assert "BMI [kg/m²], sex [/x]" in planned
    assert "s [bold].toml" in planned
    assert "x [/bold].csv" in run("ledger", "cap", "x [/bold].csv", "--epsilon", 1).stdout
    assert "x [/bold].csv" in run("ledger", "show").stdout.replace("\n", "")


def test_infinity_is_written_as_in_a_certificate() -> None:
    data = {"epsilon": float("inf"), "rows": [(1.0, float("-inf"))], "error": float("nan")}
    assert json.loads(json_text(data)) == {"epsilon": "inf", "rows": [[1.0, "-inf"]], "error": None}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_screen_without_greek_letters(run, encoding: str) -> None:  # type: ignore[no-untyped-def]
    assert "recognises" in run("account", "explain", "--epsilon", 1, encoding=encoding).stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_output_to_a_full_device_is_one_line(extra: tuple[str, ...]) -> None:
    """In a process of its own, for Python itself complains of lost output only when it leaves."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "account", "explain", "--epsilon", "1", *extra],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert done.returncode == 9
    assert done.stderr.decode().count("\n") == 1, done.stderr
