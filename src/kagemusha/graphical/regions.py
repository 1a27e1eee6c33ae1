"""A junction tree cut at its narrow separators, for `crossing`.

A separator is narrow if it has no more states than there are codes behind it: what lies beyond is then described by
fewer numbers through the separator's states than by the codes themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kagemusha.graphical.junction_tree import JunctionTree
from kagemusha.schema.domain import Clique


@dataclass(frozen=True)
class Thing:
    """An attribute, or the separator of regions behind; its home is a clique of the region that holds it."""

    names: Clique
    home: int
    rows: slice
    """The codes that it stands for."""
    behind: tuple[int, ...] = ()
    """The regions that it stands for, if it is a separator."""


@dataclass(frozen=True)
class Region:
    """Cliques that are connected by wide separators, the one next to the root first."""

    nodes: tuple[int, ...]
    things: tuple[Thing, ...]
    """In the order of their homes."""
    rows: slice
    """Codes of its attributes and of all that lies behind."""


def regions_of(tree: JunctionTree, names: Iterable[str]) -> tuple[list[Region], dict[str, slice]]:
    """The regions of a tree, parents before children, and the rows of the attributes that are asked for.

    Rows are numbered so that what lies behind a region is one run of them. Branches without an attribute are left out.
    """
    wanted, domain = set(names), tree.domain
    new = [[n for n in c if n in wanted and n not in s] for c, s in zip(tree.cliques, tree.separators, strict=True)]
    codes = [sum(map(domain.size, mine)) for mine in new]
    for node in range(len(codes) - 1, 0, -1):
        codes[tree.parents[node]] += codes[node]

    cliques: list[list[int]] = []
    inside: dict[int, int] = {}
    hanging: dict[int, dict[Clique, list[int]]] = {}
    for node, parent in enumerate(tree.parents):
        if node and not codes[node]:
            continue
        separator = tree.separators[node]
        if node and domain.cells(separator) > codes[node]:
            inside[node] = inside[parent]
        else:
            inside[node] = len(cliques)
            cliques.append([])
            if node:
                hanging.setdefault(parent, {}).setdefault(separator, []).append(inside[node])
        cliques[inside[node]].append(node)

    rows: dict[str, slice] = {}
    starts = [0] * len(cliques)
    found = []
    for at, nodes in enumerate(cliques):
        things, end = [], starts[at]
        for node in nodes:
            for name in new[node]:
                start, end = end, end + domain.size(name)
                rows[name] = slice(start, end)
                things.append(Thing((name,), node, rows[name]))
            for separator, behind in hanging.get(node, {}).items():
                start = end
                for other in behind:
                    starts[other] = end
                    end += codes[cliques[other][0]]
                things.append(Thing(separator, node, slice(start, end), tuple(behind)))
        found.append(Region(tuple(nodes), tuple(things), slice(starts[at], end)))
    return found, rows
