"""The README does what it says: its links lead somewhere, its code runs, its figures are the measured ones."""

from __future__ import annotations

import gzip
import re
import shlex
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from command import Run
from kagemusha.schema import Schema

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROJECT = "https://github.com/kagemusha-project/kagemusha"
RAW = "https://raw.githubusercontent.com/kagemusha-project/kagemusha/main/"
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.+?)\n```", text, re.S)


def test_a_fresh_machine_needs_two_commands() -> None:
    first, second = blocks("sh", README.split("## What you get")[0])
    assert first.endswith("kagemusha demo")
    assert second == "bash .ci/run"


def test_links_hold_where_there_is_no_repository_around() -> None:
    """PyPI shows the README alone: every link is whole, and leads to what is in the repository."""
    for target in LINK.findall(README):
        assert target.startswith("https://"), target
        for start in (f"{PROJECT}/blob/main/", f"{PROJECT}/tree/main/", RAW):
            if target.startswith(start):
                assert (ROOT / target.removeprefix(start)).exists(), target


def test_links_in_the_other_documents_lead_somewhere() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("benchmarks/**/*.md"),
    ]
    for page in pages:
        for target in LINK.findall(page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [
        f"{sex},{age},{rng.integers(1, 5)}"
        for sex, age in zip(rng.choice(["F", "M"], 800), rng.integers(0, 99, 800), strict=True)
    ]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["sex,age,visits", *lines]) + "\n")
    return path


def confirm(schema: Path) -> None:
    """What a person does between two commands: read the draft, and vouch for it."""
    Schema.load(schema).confirm().save(schema)


def test_the_first_release(run: Run, patients: Path, tmp_path: Path) -> None:
    (commands,) = blocks("sh", README.split("## What you get")[1])
    for line in commands.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "kagemusha"
        run(*arguments)
        if arguments[:2] == ["schema", "propose"]:
            confirm(tmp_path / "patients.toml")
    assert (tmp_path / "older-women.csv").read_text().count("\n") == 501
    assert (tmp_path / "internal" / "report.html").exists()


def test_the_python_code(patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kagemusha.proposal import propose

    propose(patients).confirm().save(tmp_path / "patients.toml")
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)
    assert type(names["doubles"]) is type(names["table"])
    assert (tmp_path / "release" / "certificate.html").exists()


def test_the_demo(run: Run, tmp_path: Path) -> None:
    shown = run("demo").stdout
    assert "Promise kept: ε = 1" in shown
    assert "FAILED" not in shown
    assert (tmp_path / "kagemusha-demo" / "doubles" / "certificate.html").exists()
    assert "already exists" in run("demo", code=2).stderr


def test_the_table_of_the_demo_is_the_published_one(tmp_path: Path) -> None:
    from statsmodels.datasets import randhie

    ours = gzip.decompress(files("kagemusha.cli").joinpath("data/randhie.csv.gz").read_bytes())
    assert ours.decode() == randhie.load_pandas().data.to_csv(index=False)


MEASURED = {
    "Kagemusha, `kage`": ("kagemusha", "kage"),
    "Kagemusha, `aim`": ("kagemusha", "aim"),
    "dpmm, AIM": ("dpmm", "aim"),
    "SmartNoise, AIM": ("smartnoise", "aim"),
    "OpenDP, AIM": ("opendp", "aim"),
    "dpmm, PrivBayes": ("dpmm", "priv-bayes"),
    "DataSynthesizer, PrivBayes": ("datasynthesizer", "privbayes"),
}


def rows(text: str) -> list[list[str]]:
    """Cells of the lines of tables, without what makes them bold."""
    lines = (line for line in text.replace("**", "").splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_figures_against_rivals_are_the_measured_ones() -> None:
    results = (ROOT / "benchmarks" / "results" / "aim_vs_rivals.md").read_text()
    measured = {(r[0], r[1], r[2]): r for r in rows(results) if r[3] == "1"}
    shown = [r for r in rows(README.split("## What you get")[0]) if not r[0].startswith(("ε", "-"))]
    assert len(shown) == len(MEASURED)
    for label, *cells in shown:
        system = next(found for start, found in MEASURED.items() if label.startswith(start))
        for table, (error, cpu) in {"adult": cells[:2], "bank": cells[2:]}.items():
            row = measured.get((*system, table))
            if row is None:
                assert (error, cpu) == ("", "")
                continue
            assert error == f"{float(row[9]):.3f}".removeprefix("0"), label
            assert float(cpu) == pytest.approx(float(row[5]), abs=0.05 if float(row[5]) < 10 else 0.5), label
