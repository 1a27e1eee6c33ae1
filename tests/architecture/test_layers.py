"""The shape of the code base: who imports whom, what an import loads, how long files are, what may be random."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "kagemusha"
FILES = sorted(SOURCE.rglob("*.py"))


def name_of(file: Path) -> str:
    """The module a file holds."""
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Every import, inside functions too, as (module, name taken from it)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name their module in full"
            yield from ((node.module or "", alias.name) for alias in node.names)


def homes(source: str) -> set[str]:
    """The modules that what a source imports was defined in, however many doors it came through."""
    found = set()
    for module, name in imported(ast.parse(source)):
        found.add(module)
        if module.startswith("kagemusha") and name is not None:
            thing = getattr(import_module(module), name, None)
            if thing is None:  # a module that nobody has imported yet
                thing = import_module(f"{module}.{name}")
            found.add(thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", module))
    return found


def within(modules: set[str], room: str) -> bool:
    return any(module == room or module.startswith(room + ".") for module in modules)


def test_imports_go_one_way() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=SOURCE.parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


HEAVY = (
    "torch", "matplotlib", "starlette", "uvicorn", "pandas", "polars", "pyarrow", "opendp", "dp_accounting", "numba",
    "sklearn", "scipy", "duckdb", "cryptography",
)  # fmt: skip


@pytest.mark.parametrize("module", ["kagemusha", "kagemusha.cli.app"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_stay_short() -> None:
    long = {str(f.relative_to(SOURCE)): n for f in FILES if (n := len(f.read_text().splitlines())) > 300}
    assert not long, f"split these, or write down why not: {long}"


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_code_is_executed_on_load_and_nothing_is_pickled(file: Path) -> None:
    tree = ast.parse(file.read_text())
    modules = {module.partition(".")[0] for module, _ in imported(tree)}
    assert not modules & {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
    for call in _calls(tree):
        assert ast.unparse(call.func) not in {"eval", "exec", "joblib.load", "joblib.dump", "torch.load"}
        assert not [word for word in call.keywords if word.arg == "allow_pickle" and ast.unparse(word.value) != "False"]


def random_sources(source: str) -> list[str]:
    """Where a source could draw at random: modules it imports, and uses of numpy's (its types may be named)."""
    tree = ast.parse(source)
    found = [m for m, name in imported(tree) if m.startswith(("random", "secrets", "numpy.random"))]
    found += [f"{m}.{name}" for m, name in imported(tree) if m == "numpy" and name == "random"]
    uses = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return found + [use for use in uses if ".random." in f".{use}" and not use.endswith(".random.Generator")]


def test_a_random_source_is_recognised() -> None:
    for source in ("import random", "from numpy.random import default_rng", "from numpy import random as r"):
        assert random_sources(source)
    assert random_sources("import numpy\ndef f():\n    return numpy.random.default_rng(3)")
    assert not random_sources("import numpy as np\ndef f(rng: np.random.Generator):\n    return rng")


def test_release_paths_use_no_other_random_source() -> None:
    """Private steps draw from OpenDP only; a pseudo-random generator is allowed where the run is stamped simulation."""
    for room in ("privacy", "release", "queries", "ledger"):
        for file in (SOURCE / room).rglob("*.py"):
            if file.name != "simulated.py":
                assert not random_sources(file.read_text()), file


LEDGER, SOURCES = "kagemusha.ledger", "kagemusha.sources"


def test_what_is_imported_is_known_by_its_home() -> None:
    assert within(homes("from kagemusha.ledger import open_ledger"), LEDGER)
    assert within(homes("from kagemusha.release.looks import open_ledger"), LEDGER)
    assert within(homes("def f():\n    from kagemusha import sources"), SOURCES)
    assert not within(homes("from kagemusha.schema import Schema"), SOURCES)


def test_only_the_release_room_fit_and_the_command_line_hold_a_source_with_a_ledger() -> None:
    both = set()
    for file in FILES:
        known = homes(file.read_text())
        if within(known, LEDGER) and within(known, SOURCES):
            both.add(name_of(file))
    both.discard("kagemusha")  # it lists the names of others and holds nothing
    allowed = {name for name in both if name.startswith(("kagemusha.release.", "kagemusha.cli."))}
    assert both - allowed == {
        "kagemusha.synthesizers.fit",
        "kagemusha.synthesizers.related_fit",
        "kagemusha.making.order",
    }


def test_no_name_means_two_things_in_a_module() -> None:
    """Two files made one may both have a LEAST; the second would silently take the place of the first."""
    twice = {}
    for file in FILES:
        names: list[str] = []
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.Assign):
                names += [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names += [alias.asname or alias.name for alias in node.names]
        if again := {name for name in names if names.count(name) > 1}:
            twice[str(file.relative_to(SOURCE))] = again
    assert not twice
