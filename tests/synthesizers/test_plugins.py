"""Methods of other packages: installed beside, listed, run and held to the contract; broken ones named in a line."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import kagemusha as kg
from command import COMMAND, Run
from kagemusha.errors import UsageError
from kagemusha.synthesizers.contract import check_synthesizer
from kagemusha.synthesizers.kage.kage import Kage
from kagemusha.synthesizers.registry import BUILT_IN, GROUP, create, names, package_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package of one module as pip would: its file and a dist-info folder, in a folder on the path."""
    site = tmp_path / "site"
    loaded = set(sys.modules)

    def go(package: str, code: str, **methods: str) -> Path:
        info = site / f"{package.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1.0\n")
        lines = [f"{name.replace('_', '-')} = {place}" for name, place in methods.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]) + "\n")
        (site / f"{package.replace('-', '_')}.py").write_text(code)
        monkeypatch.syspath_prepend(site)
        return site

    yield go
    for module in set(sys.modules) - loaded:
        if getattr(sys.modules[module], "__file__", None) and str(site) in str(sys.modules[module].__file__):
            del sys.modules[module]


@pytest.fixture
def example(install: Install) -> Path:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    return install(project["name"], (EXAMPLE / "kagemusha_chain.py").read_text(), **project["entry-points"][GROUP])


def test_the_example_keeps_the_contract(example: Path) -> None:
    assert names() == (*BUILT_IN, "chain")
    check_synthesizer("chain")
    assert create("chain", max_cells=7).max_cells == 7  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="'max_cells' of method 'chain' must be a whole number"):
        create("chain", max_cells="many")
    with pytest.raises(UsageError, match="did you mean 'chain'"):
        create("chian")


def test_the_example_is_listed_and_run_by_the_command_line(example: Path, run: Run, tmp_path: Path) -> None:
    listed = subprocess.run(
        [*COMMAND, "synth", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join([*sys.path, str(example)]), "COLUMNS": "200"},
    )
    assert "aim-lap, chain." in listed.stdout
    (tmp_path / "t.csv").write_text("a,b\n" + "x,1\ny,2\n" * 50)
    (tmp_path / "t.toml").write_text(
        'version = 1\n[columns.a]\nkind = "category"\ncategories = ["x", "y"]\n'
        '[columns.b]\nkind = "integer"\nlower = 1\nupper = 2\n'
    )
    assert "every column with the next one" in run("plan", "t.toml", "--method", "chain").stdout
    run("synth", "t.csv", "--schema", "t.toml", "--method", "chain", "--out", "doubles")
    run("verify", "doubles")
    assert "max_cells = 1" in run("plan", "t.toml", "-m", "chain", "-o", "max_cells=1", code=2).stderr


READER = """
import dataclasses
from typing import ClassVar
from kagemusha.synthesizers.privbayes import BayesNet

@dataclasses.dataclass(frozen=True, kw_only=True)
class Reader(BayesNet):
    name: ClassVar[str] = "reader"
    private: ClassVar[bool] = True

    def build(self, curator, *, progress=None):
        from kagemusha.synthesizers.independent import Independent
        curator._source.count([()])  # past the door
        return Independent().build(curator)
"""


def test_a_certificate_names_the_package_whose_code_read_the_table(install: Install, run: Run, tmp_path: Path) -> None:
    """Kagemusha cannot know what that code read, so it says whose it is; and `verify` shows it."""
    install("reader", READER, reader="reader:Reader")
    (tmp_path / "t.csv").write_text("a\n" + "x\ny\n" * 50)
    (tmp_path / "t.toml").write_text('version = 1\n[columns.a]\nkind = "category"\ncategories = ["x", "y"]\n')
    made = run("synth", "t.csv", "-s", "t.toml", "-m", "reader", "--out", "theirs")
    assert "reader 0.1.0" in made.stdout
    told = json.loads((tmp_path / "theirs" / "certificate.json").read_text())
    assert told["method"]["package"] == "reader 0.1.0"
    assert any(
        "reader 0.1.0" in s and "its reading of the table was not checked" in s.replace("\n", " ")
        for s in told["assumptions"]
    )
    assert "not checked" in (tmp_path / "theirs" / "certificate.html").read_text()
    verified = run("verify", "theirs").stdout
    assert "reader 0.1.0" in verified
    assert "not checked" in verified
    run(
        "synth", "t.csv", "-s", "t.toml", "-m", "independent", "--out", "ours", "--dataset", "b", "--ledger", "other.db"
    )
    ours = json.loads((tmp_path / "ours" / "certificate.json").read_text())
    assert "package" not in ours["method"]
    assert "not checked" not in run("verify", "ours").stdout


def test_a_package_cannot_be_taken_off_a_certificate_by_half(install: Install, run: Run, tmp_path: Path) -> None:
    """The sentence goes with the field: `verify` asks for it."""
    install("reader", READER, reader="reader:Reader")
    model = kg.fit(
        "reader", pd.DataFrame({"a": ["x", "y"] * 50}), 1.0, schema=kg.Schema([kg.Category("a", categories=("x", "y"))])
    )
    certificate = replace(
        model.certificate, assumptions=[s for s in model.certificate.assumptions if "reader" not in s]
    )
    (tmp_path / "c.json").write_text(certificate.to_json())
    assert not all(check.passed for check in kg.verify(tmp_path / "c.json"))
    (tmp_path / "c.json").write_text(model.certificate.to_json())
    assert all(check.passed for check in kg.verify(tmp_path / "c.json"))


def test_classes_that_were_never_installed_are_foreign_too() -> None:
    assert package_of(Kage) is None
    assert "no installed package" in (package_of(type("Mine", (Kage,), {"__module__": "my_notebook"})) or "")
    assert (package_of(type("Theirs", (Kage,), {"__module__": "numpy.thing"})) or "").startswith("numpy ")


def test_a_name_of_ours_is_never_theirs(install: Install) -> None:
    install("impostor", "raise SystemExit('loaded')", kage="impostor:Kage", aim_k3="impostor:Kage")
    assert names() == BUILT_IN
    assert isinstance(create("kage"), Kage)


BROKEN = {
    "fails on import": ("import nothing_of_that_name", "m:Method", r"cannot be loaded \(ModuleNotFoundError"),
    "leaves": ("raise SystemExit('bye')", "m:Method", r"SystemExit: bye"),
    "is not there": ("", "m:Method", r"cannot be loaded \(AttributeError"),
    "says much": ("raise RuntimeError('line one\\nline two')", "m:Method", r"RuntimeError: line one line two\)"),
    "is no class": ("Method = 3", "m:Method", "is not a dataclass derived from Synthesizer"),
    "is another class": ("class Method: name = 'method'", "m:Method", "is not a dataclass derived from Synthesizer"),
    "has another name": (
        "from kagemusha.synthesizers.kage.kage import Kage as Method",
        "m:Method",
        "calls itself 'kage'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_named_in_a_line(install: Install, run: Run, tmp_path: Path, case: str) -> None:
    code, place, words = BROKEN[case]
    install("m", code, method=place)
    assert "method" in names()
    with pytest.raises(UsageError, match=rf"method 'method' of package m 0\.1\.0: .*{words}"):
        create("method")
    (tmp_path / "t.toml").write_text('version = 1\n[columns.a]\nkind = "boolean"\n')
    told = run("plan", "t.toml", "--method", "method", code=2).stderr
    assert told.count("\n") == 1
    run("plan", "t.toml")  # and nobody else is troubled


def test_two_packages_of_one_name_are_both_refused(install: Install) -> None:
    for package in ("one", "two"):
        install(package, "", method=f"{package}:Method")
    with pytest.raises(UsageError, match=r"offered by one 0\.1\.0 and two 0\.1\.0"):
        create("method")


def test_names_are_plain_words(install: Install) -> None:
    install("m", "", **{"[bold]": "m:Method", "Two words": "m:Method"})
    assert names() == BUILT_IN
