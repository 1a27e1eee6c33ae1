"""Every public method says what it does, once: one that overrides another has its docstring unless it says more."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kagemusha

SOURCE = Path(kagemusha.__file__).parent


def classes_of(text: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}


def methods_of(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}


def said(classes: dict[str, ast.ClassDef], name: str, method: str) -> bool:
    """Whether a class, or what it is derived from, says what a method does."""
    if name not in classes:
        return False
    found = methods_of(classes[name]).get(method)
    if found is not None and ast.get_docstring(found):
        return True
    names = (part.id for base in classes[name].bases for part in ast.walk(base) if isinstance(part, ast.Name))
    return any(said(classes, base, method) for base in names)


def silent(classes: dict[str, ast.ClassDef]) -> list[str]:
    """Public methods of public classes that nobody explains."""
    return [
        f"{name}.{method}"
        for name, node in classes.items()
        if not name.startswith("_")
        for method in methods_of(node)
        if not method.startswith("_") and not said(classes, name, method)
    ]


def test_public_methods_say_what_they_do() -> None:
    classes: dict[str, ast.ClassDef] = {}
    for file in SOURCE.rglob("*.py"):
        classes |= classes_of(file.read_text(encoding="utf-8"))
    assert len(classes) > 400
    assert not silent(classes)


@pytest.mark.parametrize(("base", "found"), [("object", ["B.m"]), ("A", []), ("A[int]", [])])
def test_a_method_that_nobody_explains_is_found(base: str, found: list[str]) -> None:
    text = f'class A:\n    def m(self):\n        "Said."\nclass B({base}):\n    def m(self):\n        return 1\n'
    assert silent(classes_of(text)) == found
