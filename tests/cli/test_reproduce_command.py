"""`reproduce pages` and `account gaussian-generation --alpha`: what they print and write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import checked, in_this_process
from kagemusha.reproduce import pages
from kagemusha.reproduce.claims import exact


def test_pages_are_renewed_by_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "codes_of", lambda folder: {"runs": "1"})
    out = tmp_path / "results" / "aim"
    out.mkdir(parents=True)
    pages.write_page(out, "aim", [exact("Table 1", "so", "yes", True)], {"runs": ["1"]}, "", [])
    command = ["reproduce", "pages", "--results", str(tmp_path / "results")]
    assert "Every page says what it must." in checked(in_this_process(command), 0).stdout
    monkeypatch.setattr(pages, "codes_of", lambda folder: {"runs": "2"})
    assert "report.md" in checked(in_this_process(command), 0).stdout
    assert "Older than its code" in (out / pages.PAGE).read_text(encoding="utf-8")


def test_a_readme_without_a_place_for_the_table_is_named(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("nothing")
    command = ["reproduce", "pages", "--results", str(tmp_path), "--readme", str(readme)]
    assert "README.md: no <!-- papers -->" in checked(in_this_process(command), 4).stderr


def test_the_papers_own_order_can_be_asked_for() -> None:
    command = ["account", "gaussian-generation", "--n", "1e7", "--d", "6", "--sigma", "0.01", "--no-pld"]
    found = json.loads(checked(in_this_process([*command, "--alpha", "4", "--json"]), 0).stdout)
    assert found["renyi"]["paper"] == pytest.approx(0.576462, abs=5e-7)
    assert [e["epsilon"] for e in found["epsilon"] if e["alpha"] == 4] == [pytest.approx(4.414104, abs=5e-7)]
    said = checked(in_this_process([*command, "--alpha", "4"]), 0).stdout
    assert "(4, 0.576462)-RDP" in said
    assert "nothing checks it" in " ".join(said.split())
    done = checked(in_this_process([*command, "--alpha", "0.5"]), None)
    assert done.returncode != 0
    assert "alpha must be greater than 1 and less than" in done.stderr
