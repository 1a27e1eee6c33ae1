"""Which code made a result: a digest of the modules behind it, so that a page can say that it is older than its code.

A result depends on the modules that compute numbers and that its own module imports, directly or through others.
Comments, docstrings and blank lines do not count; neither do rooms that only carry values (files, ledgers, pages).
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOMS = (
    "annotation",
    "attacks",
    "evaluation",
    "generators",
    "graphical",
    "marginals",
    "models",
    "neural",
    "privacy",
    "queries",
    "reproduce",
    "synthesizers",
)
"""Rooms whose code decides how a simulated run comes out."""

_TOP = Path(__file__).parents[1]


def code_of(*modules: str, without: Iterable[str] = ()) -> str:
    """A digest of the code behind modules, such as "kagemusha.synthesizers.aim"; `without` are packages never used."""
    return _digest(tuple(sorted(set(modules))), tuple(sorted(without)))


@cache
def _digest(modules: tuple[str, ...], without: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for name in behind(modules, without):
        digest.update(f"{name}\n{_text(name)}\n".encode())
    return digest.hexdigest()[:16]


def behind(modules: Iterable[str], without: Iterable[str] = ()) -> list[str]:
    """The modules themselves, and all in ROOMS that they import, but for those of `without`."""
    left_out = (__name__, *without)
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found or _path(name) is None or any(f"{name}.".startswith(f"{other}.") for other in left_out):
            continue
        found.add(name)
        waiting += [other for other in _imports_of(name) if other.split(".")[1:2] and other.split(".")[1] in ROOMS]
    return sorted(found)


def _path(name: str) -> Path | None:
    place = _TOP.joinpath(*name.split(".")[1:])
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


@cache
def _source(name: str) -> str:
    path = _path(name)
    assert path is not None
    return path.read_text(encoding="utf-8")


@cache
def _imports_of(name: str) -> tuple[str, ...]:
    return tuple(_imports(name))


def _imports(name: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(_source(name))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            # a module of a package, or a name inside a module: what is no file is left out
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _text(name: str) -> str:
    """The source without comments, docstrings and blank lines."""
    source = _source(name)
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone and isinstance(node.value.value, str):  # type: ignore[attr-defined]
            for row in range(node.lineno - 1, node.end_lineno or node.lineno):  # type: ignore[attr-defined]
                lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())
