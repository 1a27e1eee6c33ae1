"""Switches that are left: on kinds of events, on accountings, on names of attributes. These numbers never go up."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import kagemusha

SOURCE = Path(kagemusha.__file__).parent
TREES = [ast.parse(file.read_text(encoding="utf-8")) for file in SOURCE.rglob("*.py")]


def called(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def asks_for_an_event(node: ast.AST) -> bool:
    if not called(node, "isinstance", "issubclass"):
        return False
    assert isinstance(node, ast.Call)
    return any(isinstance(part, ast.Name) and part.id.endswith("Event") for part in ast.walk(node.args[1]))


def names_an_accounting(node: ast.AST) -> bool:
    """A member of the enum: outside of methods' own declarations it is a switch."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Accounting"
        and node.attr.isupper()
    )


def asks_by_name(node: ast.AST) -> bool:
    return called(node, "getattr", "hasattr")


@pytest.mark.parametrize(
    ("is_switch", "most"),
    [(asks_for_an_event, 5), (names_an_accounting, 34), (asks_by_name, 17)],
    ids=["events", "accountings", "names"],
)
def test_switches_do_not_come_back(is_switch: Callable[[ast.AST], bool], most: int) -> None:
    found = sum(is_switch(node) for tree in TREES for node in ast.walk(tree))
    assert found <= most


def test_a_switch_is_recognised() -> None:
    assert asks_for_an_event(ast.parse("isinstance(e, GaussianEvent | LaplaceEvent)", mode="eval").body)
    assert names_an_accounting(ast.parse("Accounting.GDP", mode="eval").body)
    assert asks_by_name(ast.parse("getattr(x, 'y', None)", mode="eval").body)
