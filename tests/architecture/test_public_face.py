"""What a newcomer meets: the README, the help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from command import Run
from kagemusha.cli.app import app

ROOT = Path(__file__).parents[2]


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    text = (ROOT / "README.md").read_text()
    before = text.split("## What you get")[0]
    assert len(re.findall(r"```sh\n(.+?)\n```", before, re.S)) == 2


def test_links_in_the_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command there is, groups included."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


COMMANDS = list(commands(typer.main.get_command(app)))


def test_every_command_is_found() -> None:
    assert {(), ("synth",), ("ledger", "close"), ("account", "gaussian-generation"), ("demo",)} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_teaches(run: Run, command: tuple[str, ...]) -> None:
    shown = run(*command, "--help").stdout
    assert len(shown) > 200
    assert "Usage: kagemusha" in shown
    assert len(set(shown.split())) > 25, "a usage line alone teaches nobody"
