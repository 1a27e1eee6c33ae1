"""What is promised to whoever installs or cites the package."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import kagemusha

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIG["project"]
EXTRAS = PROJECT["optional-dependencies"]
MODULES = {"scikit-learn": "sklearn", "xgboost-cpu": "xgboost", "import-linter": "grimp", "pyyaml": "yaml"}
"""Where a package's module has another name."""

TOOLS = {
    "ruff": "ruff check",
    "mypy": "mypy",
    "pytest-xdist": "pytest -q -n",
    "import-linter": "lint-imports",
    "ipykernel": "pytest",
    "hatchling": "pytest",
    "twine": "pytest",
}
"""Packages that are run and not imported, and how `.ci/run` runs them."""


def names(requirements: list[str]) -> list[str]:
    found = [re.match(r"[\w.-]+", one)[0] for one in requirements]  # type: ignore[index]
    return [name for name in found if name != "kagemusha"]


def imported(*folders: str) -> set[str]:
    """Top-level modules imported anywhere in these folders."""
    found = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "need":  # the eval extra, where it is used
                found.add(ast.literal_eval(node.args[0]).partition(".")[0])
    return found


@pytest.mark.parametrize("extra", ["", *(name for name in EXTRAS if name not in ("dev", "docs"))])
def test_every_dependency_has_code_behind_it(extra: str) -> None:
    used = imported("src")
    for name in names(EXTRAS[extra] if extra else PROJECT["dependencies"]):
        assert MODULES.get(name, name.replace("-", "_")) in used, f"nothing imports {name}"


def test_the_site_is_made_with_what_the_extra_docs_brings() -> None:
    configuration, site = (ROOT / "docs" / "conf.py").read_text(), (ROOT / "tests/documents/test_site.py").read_text()
    for name in names(EXTRAS["docs"]):
        module = name.replace("-", "_").removesuffix("_parser")
        assert f'"{module}' in configuration + site, f"nothing uses {name}"


def test_every_tool_for_development_is_used() -> None:
    used, checks = imported("src", "tests", "benchmarks"), (ROOT / ".ci" / "run").read_text()
    for name in names(EXTRAS["dev"]):
        by_import = MODULES.get(name, name.replace("-", "_")) in used
        assert by_import or (name in TOOLS and TOOLS[name] in checks), f"nothing uses {name}"


def test_everything_imported_is_declared() -> None:
    declared = {MODULES.get(n, n.replace("-", "_")) for part in EXTRAS.values() for n in names(part)}
    declared |= {MODULES.get(n, n.replace("-", "_")) for n in names(PROJECT["dependencies"])} | {"kagemusha"}
    assert imported("src") <= declared | sys.stdlib_module_names


def test_there_is_one_version() -> None:
    assert PROJECT["dynamic"] == ["version"]
    source = (ROOT / CONFIG["tool"]["hatch"]["version"]["path"]).read_text()
    assert f'__version__ = "{kagemusha.__version__}"' in source
    assert f"version: {kagemusha.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest[1] == kagemusha.__version__


def test_project_links_lead_to_the_project() -> None:
    assert all(url.startswith("https://github.com/kagemusha-project/kagemusha") for url in PROJECT["urls"].values())
