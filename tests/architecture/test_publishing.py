"""What is published: wheel, sdist, and the files around them say the same and hold what they should."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

import kagemusha

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {"python-duckdb": "duckdb"}
"""Where conda-forge has another name."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and an sdist, as the workflow makes them."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", out)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(dist: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(dist[0]).namelist())
    source = ROOT / "src"
    there = {p.relative_to(source).as_posix() for p in (source / "kagemusha").rglob("*") if p.is_file()}
    assert {n for n in names if not n.startswith("kagemusha-")} == {n for n in there if "__pycache__" not in n}
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(dist: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(dist[1]) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (again,) = (tmp_path / "again").glob("*.whl")
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(dist[0]).namelist()


@pytest.mark.slow
def test_pypi_will_show_the_readme(dist: tuple[Path, Path]) -> None:
    assert run(sys.executable, "-m", "twine", "check", "--strict", *dist).count("PASSED") == 2


@pytest.mark.slow
def test_the_wheel_installs_where_nothing_else_is(dist: tuple[Path, Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "fresh", with_pip=False)
    python = tmp_path / "fresh" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", dist[0])
    told = run(
        *(python, "-I", "-c"),
        "from importlib.metadata import distribution as d; import json, kagemusha;"
        "m = d('kagemusha'); print(json.dumps([kagemusha.__version__, kagemusha.__file__,"
        "m.metadata['License-Expression'], [e.value for e in m.entry_points], m.requires]))",
    )
    version, place, licence, entries, requires = json.loads(told)
    assert (version, licence, entries) == (kagemusha.__version__, "Apache-2.0", ["kagemusha.cli:main"])
    assert str(tmp_path) in place
    assert {r for r in requires if "extra ==" not in r} == set(PROJECT["dependencies"])


def test_every_file_about_the_project_has_the_version() -> None:
    version = kagemusha.__version__
    assert json.loads(read("codemeta.json"))["version"] == version
    assert yaml.safe_load(read("packaging/conda/recipe.yaml"))["context"]["version"] == version


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    needs = yaml.safe_load(read("packaging/conda/recipe.yaml"))["requirements"]["run"]
    found = {PACKAGES.get(name, name) + bound for name, bound in (need.split(" ") for need in needs)}
    assert found == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_licences_are_those_that_the_policy_names() -> None:
    """Nothing that users install is under the GPL; the LGPL is where the policy says so."""
    for extra, needs in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items():
        for need in needs:
            name = re.match(r"[\w.-]+", need)[0]  # type: ignore[index]
            facts = metadata(name)
            said = " ".join([facts.get("License-Expression") or (facts.get("License") or "")[:80]])
            said += " ".join(c for c in facts.get_all("Classifier", []) if c.startswith("License"))
            if re.search("GPL|GENERAL PUBLIC", said):
                assert f"| `{extra}` | {name} |" in read("docs/policy.md"), f"{name}: {said}"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_write_only_where_a_job_says_so(path: Path) -> None:
    flow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert flow["permissions"] == {"contents": "read"}
    for job in flow["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert "secrets." not in str(step), "publishing needs no stored secret"
            assert ("uses" in step) != ("run" in step)


def test_the_image_runs_as_nobody_special() -> None:
    lines = [line for line in read("Dockerfile").splitlines() if line.strip() and not line.startswith("#")]
    users = [line.split()[1] for line in lines if line.startswith("USER")]
    assert users[-1:] == ["kagemusha"]
    assert lines.index("USER kagemusha") < lines.index('ENTRYPOINT ["kagemusha"]')
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", read("Dockerfile"), re.M):
        for name in copied.split():
            assert (ROOT / name).exists()
            assert f"!{name}" in read(".dockerignore").splitlines()


def test_release_notes_are_cut_out_of_the_changelog() -> None:
    names: dict[str, Any] = {"__name__": "notes", "__file__": str(ROOT / "docs" / "release_notes.py")}
    exec(compile(read("docs/release_notes.py"), "release_notes.py", "exec"), names)
    text = (
        "# Changelog\n\n## 0.3.0 (unreleased)\n\nnew\n\n## 0.2.0 (2026-12-01)\n\n### Added\n- this\n\n## 0.1.0\n\nold\n"
    )
    assert names["notes"]("0.2.0", text) == "### Added\n- this\n"
    for version in ("0.3.0", "0.4.0"):
        with pytest.raises(ValueError, match=re.escape(version)):
            names["notes"](version, text)
    assert names["notes"]("0.1.0", text) == "old\n"


def test_hooks_before_a_commit_run_tools_that_ci_runs() -> None:
    hooks = [hook["id"] for repo in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    assert {"ruff-check", "ruff-format", "lint-imports", "detect-private-key"} <= set(hooks)
