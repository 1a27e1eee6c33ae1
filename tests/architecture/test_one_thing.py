"""A kind of column is one thing.

What it does is a method of its class, and nobody else asks which kind a column has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from kagemusha import columns
from kagemusha.columns.axis import Axis
from kagemusha.columns.clock import Clock
from kagemusha.columns.number import Number
from kagemusha.columns.pushed import PushedAxis

SOURCE = Path(columns.__file__).parents[1]
KINDS = {c.__name__ for c in vars(columns).values() if isinstance(c, type) and issubclass(c, columns.Column)}
KINDS |= {c.__name__ for c in (Axis, Clock, Number, PushedAxis)}
MOST, FILES = 9, 6
"""Questions that are left, and the files they stand in. These numbers go down, never up."""


def asked(source: str) -> Iterator[ast.Call]:
    """Where a source asks for the kind of a column.

    By isinstance, issubclass or type, by match, or by the word in `kind`.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            named = {ast.unparse(part).rpartition(".")[2] for part in ast.walk(node.args[1])}
            if named & KINDS:
                yield node


def by_word(source: str) -> list[str]:
    """Comparisons of a column's `kind` with a word."""
    words = {
        c.kind for c in vars(columns).values() if isinstance(c, type) and isinstance(getattr(c, "kind", None), str)
    }
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".kind"):
            told = {
                part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            }
            found += [ast.unparse(node)] if told & words else []
    return found


def test_a_question_is_recognised() -> None:
    for source in (
        "isinstance(c, Integer | Real)",
        "isinstance(c, columns.Category)",
        "issubclass(k, (Modelled, int))",
    ):
        assert list(asked(source)), source
    assert not list(asked("isinstance(c, str)"))
    assert by_word('column.kind == "date"')
    assert by_word('column.kind in ("integer", "real")')
    assert not by_word('side.kind == "label"')


def test_nobody_asks_which_kind_a_column_has() -> None:
    found = {f: n for f in SOURCE.rglob("*.py") if (n := len(list(asked(f.read_text()))))}
    shown = {str(file.relative_to(SOURCE)): n for file, n in found.items()}
    assert sum(found.values()) <= MOST, shown
    assert len(found) <= FILES, shown


def test_nobody_asks_by_the_name_of_a_kind() -> None:
    found = {str(f.relative_to(SOURCE)): hits for f in SOURCE.rglob("*.py") if (hits := by_word(f.read_text()))}
    assert not found


def test_the_room_knows_no_tables_and_no_privacy() -> None:
    for file in (SOURCE / "columns").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kagemusha."):
                room = (node.module or "").split(".")[1]
                assert room in ("columns", "arrays", "errors", "words"), (file.name, node.module)
