"""How many files a new thing touches, and how much is tested: figures of docs/decisions/220 that never get worse."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import kagemusha

SOURCE = Path(kagemusha.__file__).parent
TESTS = Path(__file__).parents[1]

EXAMPLES = {
    "kind of column": ("Duration", 5),
    "mechanism": ("SampledGaussianEvent", 4),
    "accountant": ("Pure", 3),
    "query": ("CellLengths", 2),
    "synthesizer": ("MST", 1),
    "engine": ("SparkTable", 2),
}
"""A thing of each kind, and in how many source files its class is named: its own, registries and front doors, users."""

OVERALL = 0.55
"""Lines of tests per line of source; .65 is wanted."""

ROOMS = {"schema": 0.5, "quality": 0.33, "queries": 0.7, "release": 0.85, "privacy": 0.45, "ledger": 0.6}
"""The same of rooms on which the promise rests, tests of the room of the same name alone."""


def names_in(text: str) -> set[str]:
    """Names that code defines, imports or uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
    return found


@cache
def all_names() -> dict[str, set[str]]:
    files = SOURCE.rglob("*.py")
    return {str(file.relative_to(SOURCE)): names_in(file.read_text(encoding="utf-8")) for file in files}


def lines(folder: Path) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.rglob("*.py"))


@pytest.mark.parametrize("what", EXAMPLES)
def test_a_thing_is_named_in_few_files(what: str) -> None:
    name, most = EXAMPLES[what]
    found = sorted(file for file, names in all_names().items() if name in names)
    assert 1 <= len(found) <= most, f"a {what}: {', '.join(found)}"


def test_names_are_found_where_they_are_used() -> None:
    assert names_in("from a import B\nclass C: ...\nx = D.E()") >= {"B", "C", "D", "E"}
    assert "F" not in names_in("x = 'F'  # F")


def test_tests_keep_up_with_the_source() -> None:
    assert lines(TESTS) >= OVERALL * lines(SOURCE)


@pytest.mark.parametrize("room", ROOMS)
def test_what_the_promise_rests_on_is_tested(room: str) -> None:
    assert lines(TESTS / room) >= ROOMS[room] * lines(SOURCE / room)
