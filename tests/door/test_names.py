"""What `import kagemusha` shows, to people, editors and type checkers, and what it loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kagemusha as kg

INIT = Path(kg.__file__)
PUBLIC = [name for name in dir(kg) if not name.startswith("_")]


def test_tab_lists_what_is_needed() -> None:
    assert {"synthesize", "Schema", "Budget", "fit", "load", "propose", "open_source", "names"} <= set(PUBLIC)
    assert set(dir(kg)) == set(kg.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    assert getattr(kg, name).__doc__


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sythesize'"):
        kg.sythesize  # noqa: B018


def test_type_checkers_see_the_same_names_as_people() -> None:
    block = next(node for node in ast.parse(INIT.read_text()).body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    typed = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        typed |= {alias.asname: f"{node.module}.{alias.name}" for alias in node.names}
    assert typed == {name: f"{home}.{name}" for name, home in kg._PLACES.items()}


def test_a_type_checker_knows_them(tmp_path: Path) -> None:
    """Names that came out as Any would let everything through."""
    script = tmp_path / "user.py"
    script.write_text(
        "import kagemusha as kg\n"
        'model: int = kg.fit("kage", None, 1.0, schema="people.toml")\n'
        "names: int = kg.names()\n"
        'kg.Budget("one")\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(script)], capture_output=True, text=True, check=False, cwd=INIT.parents[2]
    )
    assert 'expression has type "Model"' in done.stdout, done.stdout + done.stderr
    assert 'expression has type "tuple[str, ...]"' in done.stdout
    assert 'incompatible type "str"; expected "float"' in done.stdout
    assert "Found 3 errors" in done.stdout


def test_nothing_goes_in_by_the_front_door_but_people_and_the_command_line() -> None:
    """Rooms import each other by name: through the door everything would depend on everything."""
    import grimp

    graph = grimp.build_graph("kagemusha", cache_dir=None)
    assert graph.find_modules_that_directly_import("kagemusha") == set()
    assert graph.find_modules_that_directly_import("kagemusha.door") == {
        "kagemusha",
        "kagemusha.cli.annotate",
    }
