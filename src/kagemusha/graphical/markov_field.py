"""The fitted model: p(x) ∝ exp Σ_c θ_c(x_c), with a total number of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.graphical.belief_propagation import BeliefPropagation
from kagemusha.graphical.crossing import within_reach
from kagemusha.graphical.junction_tree import JunctionTree, junction_tree
from kagemusha.graphical.queries import TreeQueries
from kagemusha.schema.domain import Clique, Domain

QUERY_CELLS = 1 << 25
"""No table of a query grows beyond this many cells (256 MiB)."""

DRAWN, DRAWN_CODES = 1 << 18, 1 << 23
"""Rows from which a marginal is counted that cannot be computed within that; and codes of all their columns, at most
about."""

LARGEST = 1e9
"""The largest log potential in a file, far beyond what a double's exponential tells apart from 0 or ∞."""

Calibration = tuple[float, list[FloatArray]]
"""Log Z, and the probabilities over each clique of the tree."""


@dataclass(frozen=True, eq=False)
class MarkovField:
    """A frozen graphical model. Parameters live on the cliques they came from, not on those of the tree."""

    domain: Domain
    total: float
    tree: JunctionTree
    potentials: Mapping[Clique, FloatArray]
    """Log potentials θ, axes in domain order; -inf marks a combination that cannot occur."""
    calibration: Calibration | None = field(default=None, repr=False)
    """What belief propagation says of the potentials, where whoever made the model knows it already."""
    twin: Mapping[Clique, FloatArray] | None = field(default=None, repr=False)
    """Where the fit's twin path ended (see `solver`), for an estimate that starts from this one."""

    @classmethod
    def build(
        cls, domain: Domain, total: float, potentials: Mapping[Clique, FloatArray], *, max_cells: int | None = None
    ) -> MarkovField:
        """A model with a fresh junction tree; raises `ModelTooLarge` if that has more than `max_cells` cells."""
        for clique, table in potentials.items():
            if clique != domain.canonical(clique) or table.shape != domain.shape(clique):
                raise ValueError(
                    f"potential over {clique}: names in domain order and shape {domain.shape(clique)} needed"
                )
        return cls(domain, float(total), junction_tree(domain, potentials, max_cells=max_cells), dict(potentials))

    @cached_property
    def _calibrated(self) -> Calibration:
        if self.calibration is not None:
            return self.calibration
        inference = BeliefPropagation(self.tree, self.potentials)
        log_z, _ = inference(inference.pack(self.potentials))
        return log_z, inference.clique_marginals()

    @property
    def log_partition(self) -> float:
        """Log Z of the potentials."""
        return self._calibrated[0]

    @property
    def clique_marginals(self) -> list[FloatArray]:
        """Probabilities over each tree clique, in the order of `tree.cliques`."""
        return self._calibrated[1]

    @cached_property
    def _queries(self) -> TreeQueries:
        return TreeQueries(self.tree, self.clique_marginals, max_cells=QUERY_CELLS)

    def project(self, clique: Iterable[str]) -> FloatArray:
        """Expected counts over a clique (they sum to `total`), one axis per name, in the order given."""
        return self.project_many([tuple(clique)])[0]

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over each clique; far cheaper together than one by one.

        Exact, unless a table on the way to a clique would have more than `QUERY_CELLS` cells: then counted from `DRAWN`
        rows of the model, the same ones every time.
        """
        try:
            return self.project_exactly(cliques)
        except ModelTooLarge:
            if len(cliques) > 1:
                return [self.project(clique) for clique in cliques]
        return [self._counted(tuple(cliques[0]))]

    def project_soon(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """The same in bounded time: pairs that need long walks through the tree are counted from those rows, too."""
        across = [p for p in dict.fromkeys(map(tuple, cliques)) if len(p) == 2 and self.tree.host(p) is None]
        far = set(across).difference(within_reach(self.tree, across))
        near = [clique for clique in cliques if tuple(clique) not in far]
        found = iter(self.project_many(near))
        return [self._counted(tuple(clique)) if tuple(clique) in far else next(found) for clique in cliques]

    def project_exactly(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """The same, or `ModelTooLarge` if one of them cannot be computed."""
        return [table * self.total for table in self._queries.project_many(cliques)]

    @cached_property
    def _drawn(self) -> IntArray:
        from kagemusha.graphical.sampling import sample_rounded

        rows = int(np.clip(DRAWN_CODES // len(self.domain), DRAWN // 16, DRAWN))
        # column by column in memory: they are counted two or three at a time
        return np.asfortranarray(sample_rounded(self, rows, rng=np.random.default_rng(0)))

    def _counted(self, clique: Clique) -> FloatArray:
        shape = self.domain.shape(clique)
        flat = np.zeros(len(self._drawn), dtype=np.int64)
        for name, size in zip(clique, shape, strict=True):
            flat *= size
            flat += self._drawn[:, self.domain.axis(name)]
        counts = np.bincount(flat, minlength=self.domain.cells(clique)).reshape(shape)
        return np.asarray(counts * (self.total / len(self._drawn)), dtype=np.float64)

    def log_likelihood(self, codes: IntArray) -> FloatArray:
        """Log p(x) of each row of codes (columns in domain order)."""
        score = np.full(len(codes), -self.log_partition)
        for clique, table in self.potentials.items():
            score += table[tuple(codes[:, self.domain.axis(name)] for name in clique)]
        return score

    def given(self, evidence: Mapping[Clique, FloatArray], *, max_cells: int | None = None) -> MarkovField:
        """The model given soft evidence, exactly: its density times the evidence's weights (0 to 1), renormalised.

        `total` shrinks by the evidence's probability. Raises `UsageError` if nothing is left.
        """
        potentials = dict(self.potentials)
        with np.errstate(divide="ignore"):
            for clique, weights in evidence.items():
                # a combination that is ruled out gets the potential −∞
                potentials[clique] = potentials.get(clique, 0.0) + np.log(weights)
        narrowed = MarkovField.build(self.domain, self.total, potentials, max_cells=max_cells)
        if narrowed.log_partition == -np.inf:
            raise UsageError("where: no double can fulfil this condition; it rules out every row of the model")
        share = float(np.exp(narrowed.log_partition - self.log_partition))
        return replace(narrowed, total=self.total * share, calibration=narrowed._calibrated)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """(JSON-able metadata, named arrays) from which `from_arrays` rebuilds the model."""
        metadata = {
            "names": list(self.domain.names),
            "sizes": list(self.domain.sizes),
            "total": self.total,
            "cliques": [list(clique) for clique in self.potentials],
        }
        return metadata, {f"potential.{i}": table for i, table in enumerate(self.potentials.values())}

    @classmethod
    def from_arrays(
        cls, metadata: Mapping[str, Any], arrays: Mapping[str, FloatArray], *, max_cells: int | None = None
    ) -> MarkovField:
        """The model `to_arrays` wrote; raises `ValueError` if the parts do not fit together or no model holds them.

        Every attribute lies in some clique of the tree, so `max_cells` bounds the sizes, too.
        """
        names, sizes = metadata["names"], metadata["sizes"]
        if not all(isinstance(name, str) for name in names) or not all(_is_whole(size) for size in sizes):
            raise ValueError("names must be texts and sizes whole numbers")
        domain = Domain(tuple(names), tuple(sizes))
        cliques = [tuple(clique) for clique in metadata["cliques"]]
        if len(set(cliques)) != len(cliques) or not all(name in domain for clique in cliques for name in clique):
            raise ValueError("cliques must be distinct sets of the attributes")
        missing = [f"potential.{i}" for i in range(len(cliques)) if f"potential.{i}" not in arrays]
        if missing:
            raise ValueError(f"array {missing[0]} is missing")
        tables = [np.asarray(arrays[f"potential.{i}"], dtype=np.float64) for i in range(len(cliques))]
        if not all(map(_possible, tables)):
            raise ValueError(f"potentials must be numbers up to {LARGEST:g}, or minus infinity but not all of them")
        return cls.build(domain, float(metadata["total"]), dict(zip(cliques, tables, strict=True)), max_cells=max_cells)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _possible(table: FloatArray) -> bool:
    """Whether a potential leaves something possible, and sums of many stay finite."""
    # what is not a number is neither minus infinity nor within the bounds
    return table.size > 0 and bool(((np.abs(table) <= LARGEST) | (table == -np.inf)).all() and table.max() > -np.inf)
