"""What a newcomer meets on the command line: the help texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from command import Run
from kagemusha.cli.app import app


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
