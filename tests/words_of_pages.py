"""Every sentence that a page says through its catalogue, as the source has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

CALL = re.compile(r"""\b_\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


def in_template(text: str) -> set[str]:
    """Sentences of a template."""
    return {double or single for double, single in CALL.findall(text)}


PAGE = ("say", "noted")
"""What says a sentence of a page: `say`, `call.say` or `noted`."""

COMMANDS = ("words", "_words", "_plain", "noted")
"""What says a sentence of the command line, whose `say` prints."""


def in_source(text: str, speakers: Sequence[str] = PAGE) -> set[str]:
    """Sentences of a module: what one of the speakers is called with."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in speakers and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


def sentences_of(room: Path, speakers: Sequence[str] = PAGE) -> set[str]:
    """Every sentence of a room's pages, or of one module."""
    found = set()
    for path in [room, *room.rglob("*")]:
        if path.suffix in (".html", ".js"):
            found |= in_template(path.read_text(encoding="utf-8"))
        elif path.suffix == ".py":
            found |= in_source(path.read_text(encoding="utf-8"), speakers)
    return found
