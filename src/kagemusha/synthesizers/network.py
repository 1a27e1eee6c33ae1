"""Bayesian networks: which parents a column may have, and conditionals that together are one distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.graphical import MarkovField, candidates_within, junction_tree
from kagemusha.marginals import nearest_counts
from kagemusha.queries.network_scores import Family
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import COUNTED_CELLS

MOST_FAMILIES = 2_000
"""No round scores more families than this."""

FLOOR = 1e-9
"""Share of a conditional that is spread evenly, so that no combination is ruled out by a count of zero."""


def scored(columns: int, degree: int) -> int:
    """Families scored while a network over so many columns grows, at most."""
    return columns * min(MOST_FAMILIES, int(columns ** min(degree, columns - 1)))


Choose = Callable[[Sequence[Family]], Family]


@dataclass(frozen=True)
class Growth:
    """Which families a network may take: at most `degree` parents and `cells` cells each, `max_cells` in the tree.

    Everything here is public: the declared domain, the choices of the person, and what was already released.
    """

    domain: Domain
    degree: int
    cells: float
    max_cells: int

    def grow(self, choose: Choose, root: str = "") -> list[Family]:
        """A network over all columns, from `root` or the smallest one on; `choose` picks each next family."""
        smallest = min(self.domain.names, key=lambda name: (self.domain.size(name), self.domain.axis(name)))
        network = [Family(root or smallest)]
        while len(network) < len(self.domain):
            families = self.families(network)
            network.append(families[0] if len(families) == 1 else choose(families))
        return network

    def families(self, network: Sequence[Family]) -> list[Family]:
        """Every family the next column may have: no parent could be added to it without passing a limit."""
        within = self
        while True:
            found = within._maximal(network)
            counted = {self.domain.canonical(f.members) for f in found}
            if len(found) <= MOST_FAMILIES and sum(map(self.domain.cells, counted)) <= COUNTED_CELLS:
                return found
            # too much to score: fewer parents first, then smaller tables
            within = (
                replace(within, degree=within.degree - 1)
                if len(found) > MOST_FAMILIES
                else replace(within, cells=min(within.cells, COUNTED_CELLS) / 4)
            )

    def _maximal(self, network: Sequence[Family]) -> list[Family]:
        known = tuple(family.child for family in network)
        columns = [name for name in self.domain if name not in known]
        degree = self.degree
        while degree > 1 and comb(len(known), min(degree, len(known))) * len(columns) > MOST_FAMILIES:
            degree -= 1
        if degree <= 1 and len(known) * len(columns) > MOST_FAMILIES:
            # wide tables: the first columns that are left, with the parents that came last
            known = known[-MOST_FAMILIES:]
            columns = columns[: MOST_FAMILIES // len(known)]
        found = [f for child in columns for f in self._families_of(child, known, degree)]
        fitting = self._fitting(network, found) if len(found) <= MOST_FAMILIES else found
        return fitting or [Family(child) for child in columns]

    def _fitting(self, network: Sequence[Family], found: Sequence[Family]) -> list[Family]:
        """Families with which the junction tree stays below its limit."""
        base = [f.members for f in network]
        tree = junction_tree(self.domain, base)
        cliques = [set(clique) for clique in tree.cliques]
        # parents that share a clique of the tree let the family be attached to it: nothing else grows
        easy = [
            any(clique.issuperset(f.parents) for clique in cliques)
            and tree.cells + self.domain.cells(f.members) <= self.max_cells
            for f in found
        ]
        hard = [f for f, fits in zip(found, easy, strict=True) if not fits]
        within = candidates_within(self.domain, base, [f.members for f in hard], self.max_cells)
        fitting = {f for f, fits in zip(hard, within, strict=True) if fits}
        return [f for f, fits in zip(found, easy, strict=True) if fits or f in fitting]

    def _families_of(self, child: str, known: Clique, degree: int) -> Iterator[Family]:
        size = self.domain.cells
        most = min(degree, len(known))
        for count in range(most + 1):
            for parents in combinations(known, count):
                cells = size((child, *parents))
                if parents and cells > self.cells:
                    continue
                rest = (name for name in known if name not in parents)
                if count == most or all(cells * self.domain.size(name) > self.cells for name in rest):
                    yield Family(child, self.domain.canonical(parents))


def network_field(
    domain: Domain, total: float, network: Sequence[Family], tables: Mapping[Clique, FloatArray]
) -> MarkovField:
    """The network Π p(child | parents) as a Markov field: the same distribution, with exact queries and conditions.

    `tables` are counts over each family, as noisy as they come. A table alone says something about its parents too,
    and different tables contradict each other there; taking only the conditionals of each, in order, leaves one
    distribution that agrees with all of them where they must.
    """
    total = max(1.0, total)  # a model has at least one record, also that of an empty table
    potentials: dict[Clique, FloatArray] = {}
    for family in network:
        clique = domain.canonical(family.members)
        axis = clique.index(family.child)
        potentials[clique] = np.log(_conditional(nearest_counts(tables[clique], total), axis))
    return MarkovField.build(domain, total, potentials)


def _conditional(counts: FloatArray, axis: int) -> FloatArray:
    """p(axis | the rest); where the rest was never seen, the axis on its own."""
    others = tuple(i for i in range(counts.ndim) if i != axis)
    alone = counts.sum(axis=others, keepdims=True)
    mass = counts.sum(axis=axis, keepdims=True)
    share: FloatArray = np.divide(
        counts, mass, out=np.broadcast_to(alone / alone.sum(), counts.shape).copy(), where=mass > 0
    )
    share *= 1 - FLOOR
    share += FLOOR / counts.shape[axis]
    return share
