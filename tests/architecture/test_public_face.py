"""What a newcomer meets: the README, the help texts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


COMMANDS = [
    [],
    ["schema"],
    ["schema", "propose"],
    ["schema", "check"],
    ["plan"],
    ["synth"],
    ["sample"],
    ["verify"],
    ["evaluate"],
    ["compare"],
    ["ledger", "show"],
    ["ledger", "cap"],
    ["ledger", "export"],
    ["account", "noise"],
    ["account", "buy"],
    ["account", "explain"],
    ["account", "gaussian-generation"],
    ["evaluate"],
    ["compare"],
    ["reproduce", "aim"],
    ["reproduce", "gaussian-rdp"],
    ["demo"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_teaches(command: list[str]) -> None:
    script = "from kagemusha.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *command, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert len(done.stdout) > 200
    assert "Traceback" not in done.stderr
