"""Every sentence that a page says through its catalogue, as the source has it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

CALL = re.compile(r"""\b_\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


def in_template(text: str) -> set[str]:
    """Sentences of a template."""
    return {double or single for double, single in CALL.findall(text)}


def in_source(text: str) -> set[str]:
    """Sentences of a module: what `say`, `call.say` or `noted` is called with."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("say", "noted") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


def sentences_of(room: Path) -> set[str]:
    """Every sentence of a room's pages."""
    found = set()
    for path in room.rglob("*"):
        if path.suffix in (".html", ".js"):
            found |= in_template(path.read_text(encoding="utf-8"))
        elif path.suffix == ".py":
            found |= in_source(path.read_text(encoding="utf-8"))
    return found
