"""The shape of the code base: who imports whom, what an import loads, how long files are, what may be random."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "kagemusha"
FILES = sorted(SOURCE.rglob("*.py"))


def test_imports_go_one_way() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=SOURCE.parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


HEAVY = ("torch", "matplotlib", "starlette", "pandas", "opendp", "dp_accounting", "numba", "sklearn", "scipy", "duckdb")


@pytest.mark.parametrize("module", ["kagemusha", "kagemusha.cli.app"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_stay_short() -> None:
    long = {str(f.relative_to(SOURCE)): n for f in FILES if (n := len(f.read_text().splitlines())) > 300}
    assert not long, f"split these, or write down why not: {long}"


def _calls(tree: ast.AST) -> list[str]:
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_no_code_is_executed_on_load_and_nothing_is_pickled() -> None:
    for file in FILES:
        tree = ast.parse(file.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}, file
        bad = [c for c in _calls(tree) if c in {"eval", "exec", "joblib.load", "joblib.dump", "torch.load"}]
        assert not bad, f"{file}: {bad}"
        assert "allow_pickle=True" not in file.read_text(), file


def test_release_paths_use_no_other_random_source() -> None:
    """Private steps draw from OpenDP only; a pseudo-random generator is allowed where the run is stamped simulation."""
    for room in ("privacy", "release"):
        for file in (SOURCE / room).rglob("*.py"):
            if file.name == "simulated.py":
                continue
            text = file.read_text()
            for word in ("default_rng(", "np.random.normal", "import random", "RandomState", "random.seed"):
                assert word not in text, f"{file} uses {word}"


def test_only_the_release_room_and_fit_hold_a_source_with_a_ledger() -> None:
    for file in FILES:
        text = file.read_text()
        if "ledger" in text and "sources" in text and "import" in text:
            imports_both = "kagemusha.ledger.protocol" in text and "kagemusha.sources" in text
            relative = file.relative_to(SOURCE).as_posix()
            allowed = relative.startswith(("release/", "cli/")) or relative == "synthesizers/fit.py"
            assert not imports_both or allowed, f"{relative} holds a source together with a ledger"
