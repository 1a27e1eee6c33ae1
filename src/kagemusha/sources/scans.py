"""Which marginals are counted in which scan of a table, and what comes over: planned from the domain alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from kagemusha.columns.dialect import Dialect
from kagemusha.schema import Clique, Domain

CELLS = 1 << 21
"""Cells that the answer of one scan may have: what the engine's hash tables and this process hold at a time."""

BYTES_PER_CELL = 24
"""About what a cell that is not empty takes on the way."""


@dataclass(frozen=True)
class Scan:
    """Sets of columns that are counted together."""

    cliques: tuple[Clique, ...]
    columns: tuple[str, ...]
    cells: int


def covering(cliques: Sequence[Clique]) -> dict[Clique, Clique]:
    """For each clique a largest one that holds it: its counts are sums of that one's, so nothing is counted twice."""
    hosts: dict[str | None, list[Clique]] = {}
    found: dict[Clique, Clique] = {}
    for _, alike in groupby(sorted(dict.fromkeys(cliques), key=len, reverse=True), key=len):
        fresh = []  # sets of one size do not hold each other
        for clique in alike:
            members = set(clique)
            near = hosts.get(clique[0] if clique else None, [])
            host = next((h for h in near if members <= set(h)), None)
            found[clique] = clique if host is None else host
            fresh += [clique] if host is None else []
        for clique in fresh:
            for name in (None, *clique):
                hosts.setdefault(name, []).append(clique)
    return found


def scans_for(domain: Domain, cliques: Sequence[Clique], dialect: Dialect, cells: int = CELLS) -> list[Scan]:
    """The cliques in as few scans as cells, sets and columns of one query allow; first come, first served."""
    scans: list[Scan] = []
    some: list[Clique] = []
    columns: dict[str, None] = {}
    size = 0

    def finish() -> None:
        scans.append(Scan(tuple(some), tuple(n for n in domain.names if n in columns), size))

    for clique in _by_neighbourhood(domain, cliques, dialect.most_columns):
        own = domain.cells(clique)
        wider = {**columns, **dict.fromkeys(clique)}
        if some and (size + own > cells or len(some) >= dialect.most_sets or len(wider) > dialect.most_columns):
            finish()
            some, columns, size = [], {}, 0
            wider = dict.fromkeys(clique)
        some.append(clique)
        columns, size = wider, size + own
    if some:
        finish()
    return scans


def _by_neighbourhood(domain: Domain, cliques: Sequence[Clique], most: int) -> list[Clique]:
    """Cliques over the same blocks of columns side by side, so that a scan with few columns holds many of them."""
    if len(domain) <= most:
        return list(cliques)
    block = max(1, most // 2)
    return sorted(cliques, key=lambda clique: tuple(sorted({domain.axis(name) // block for name in clique})))
