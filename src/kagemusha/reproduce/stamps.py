"""Which code made a result: a digest of what a run may execute, so that a page can say that it is older than its code.

From the functions that a run begins with, every definition is taken whose name is used by one that was taken, in the
modules that these import, directly or through others: more than a run executes, never less (nothing here is found by
names made at run time but synthesizers, which callers name). What a run cannot notice does not count: comments,
docstrings, line breaks, types of arguments, texts of errors and of progress, a page's writer. Nor do rooms that only
carry values: files, ledgers, pages.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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

_SPOKEN = ("progress", "inside", "here")
"""Functions that tell a person how far a run is."""


@dataclass(frozen=True)
class Definition:
    """A function, a method, a class without its methods, or a constant of a module."""

    module: str
    name: str
    """With its class: `Class.method`."""
    text: str
    """What a run could notice of it."""
    uses: frozenset[str]
    """Every name in it."""
    always: bool
    """Whether it counts wherever its module does: a statement without a name."""


def code_of(*entries: str, without: Iterable[str] = ()) -> str:
    """A digest of the code behind `module` (all of it) or `module:function`; `without` are packages never used."""
    return _digest(tuple(sorted(set(entries))), tuple(sorted(without)))


@cache
def _digest(entries: tuple[str, ...], without: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for one in reached(entries, without):
        digest.update(f"{one.module} {one.name}\n{one.text}\n".encode())
    return digest.hexdigest()[:16]


def reached(entries: Iterable[str], without: Iterable[str] = ()) -> list[Definition]:
    """All definitions that a run from these entries may execute, by module and name."""
    entries = tuple(entries)
    modules = behind((entry.split(":")[0] for entry in entries), without)
    parts = {module: _definitions(module) for module in modules}
    waiting = [one for entry in entries for one in _first(parts, entry)]
    waiting += [one for found in parts.values() for one in found if one.always]
    by_name: dict[str, list[Definition]] = {}
    for one in (one for found in parts.values() for one in found):
        by_name.setdefault(one.name.split(".")[-1], []).append(one)
    taken: set[tuple[str, str]] = set()
    names: set[str] = set()
    found = []
    while waiting:
        one = waiting.pop()
        if (one.module, one.name) in taken:
            continue
        taken.add((one.module, one.name))
        found.append(one)
        special = [other for other in parts[one.module] if _is_special(other, one)]
        waiting += special + [other for name in one.uses - names for other in by_name.get(name, [])]
        names |= one.uses
    return sorted(found, key=lambda one: (one.module, one.name, one.text))


def _first(parts: Mapping[str, list[Definition]], entry: str) -> list[Definition]:
    module, _, name = entry.partition(":")
    return [one for one in parts.get(module, []) if not name or one.name.split(".")[0] == name]


def _is_special(method: Definition, of: Definition) -> bool:
    """Methods that nobody calls by name, such as `__post_init__`."""
    owner, _, name = method.name.partition(".")
    return owner == of.name and name.startswith("__")


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
def _tree(name: str) -> ast.Module:
    path = _path(name)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imports_of(name: str) -> tuple[str, ...]:
    return tuple(_imports(name))


def _imports(name: str) -> Iterator[str]:
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            # a module of a package, or a name inside a module: what is no file is left out
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _definitions(module: str) -> list[Definition]:
    tree = ast.fix_missing_locations(_Noticed().visit(_fresh(module)))
    renamed = {a.asname: a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            node.body = [one for one in node.body if one not in methods]
            found.append(_definition(module, node.name, node, renamed))
            found += [_definition(module, f"{node.name}.{one.name}", one, renamed) for one in methods]
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            names = _names_of(node)
            found += [_definition(module, name, node, renamed) for name in names or [""]]
    return found


def _fresh(module: str) -> ast.Module:
    """A tree that may be changed."""
    return ast.parse(ast.unparse(_tree(module)))


def _names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    else:
        return []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def _definition(module: str, name: str, node: ast.stmt, renamed: Mapping[str, str]) -> Definition:
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    names |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return Definition(module, name, ast.unparse(node), frozenset({renamed.get(n, n) for n in names} | names), not name)


class _Noticed(ast.NodeTransformer):
    """Leaves out what a run cannot notice."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Docstrings."""
        alone = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if alone else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Types of arguments."""
        for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if one is not None:
                one.annotation = None
        node.returns = None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Texts of errors."""
        return self.generic_visit(_Silent().visit(node))

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Texts of assertions."""
        node.msg = None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Texts of progress."""
        if isinstance(node.func, ast.Name) and node.func.id in _SPOKEN:
            node.args = [_Silent().visit(one) for one in node.args]
        return self.generic_visit(node)


class _Silent(ast.NodeTransformer):
    """Texts are empty."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A text."""
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """A text with values in it."""
        return ast.Constant("")
