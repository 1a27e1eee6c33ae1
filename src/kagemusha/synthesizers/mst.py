"""MST: the strongest pairs that form a tree (McKenna, Miklau, Sheldon 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.generators.generator import Round
from kagemusha.generators.markov import MarkovGenerator, measurements_of
from kagemusha.graphical import estimate, tree_cells
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.queries.scores import L1Error
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.candidates import choice_ceilings, countable, moved_since, require_columns
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer


@dataclass(frozen=True, kw_only=True)
class MST(Synthesizer):
    """A third of the budget each for the columns, for choosing a maximum spanning tree edge by edge, and for its pairs.

    Edges are chosen by the exponential mechanism on the error of independence. Pairs that would take the model above
    `max_megabytes` are no candidates; columns that no pair can reach stay independent.
    """

    name: ClassVar[str] = "mst"
    summary: ClassVar[str] = "the strongest pairs that form a tree; its model stays small on wide tables"
    adaptive: ClassVar[bool] = True

    max_megabytes: float = 80.0

    def __post_init__(self) -> None:
        if not self.max_megabytes > 0:
            raise UsageError(f"max_megabytes must be greater than 0, got {self.max_megabytes}")

    @property
    def max_cells(self) -> int:
        """Cells of the largest junction tree allowed, at eight bytes per cell."""
        return int(self.max_megabytes * 1e6 / 8)

    def field_cells(self, domain: Domain) -> int:
        """The largest junction tree allowed."""
        return self.max_cells

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Measure columns, grow the tree, measure its pairs."""
        domain, rows = curator.domain, curator.public_rows()
        require_columns(domain, self.max_cells)
        columns: list[Clique] = [(name,) for name in domain]
        third = curator.total / 3 if self._open(domain) else curator.total
        progress("measuring columns", 0.0)
        kept = [m.clique for m in curator.required]
        measured = [*curator.required, *curator.measure(columns, third / len(columns))]
        model = estimate(domain, measurements_of(measured), total=rows, max_cells=self.max_cells).model

        tree: list[Clique] = []
        choices: list[L1Error] = []
        candidates = self._open(domain)
        # columns alone: what the model expects of a pair stays the same however far the tree has grown
        expected = dict(zip(candidates, model.project_many(candidates), strict=True))
        while edges := self._joining(domain, candidates, [*kept, *tree]):
            ones = np.ones(len(edges))
            score = L1Error(edges, [expected[e] for e in edges], weights=ones, penalties=0 * ones)
            tree.append(edges[curator.choose(score, third / (len(domain) - 1))])
            choices.append(score)
            progress(f"edge {len(tree)}: {' × '.join(tree[-1])}", 0.3 + 0.4 * len(tree) / len(domain))

        pairs = curator.measure(tree, curator.remaining / len(tree)) if tree else []
        progress("fitting", 0.8)
        measured += pairs
        if kept and not tree:  # tables that must be right join everything: the rest is for the columns
            measured += curator.measure(columns, curator.remaining / len(columns))
        model = estimate(domain, measurements_of(measured), total=rows, max_cells=self.max_cells).model
        trace = [Round(m.clique, m.sigma, 1.0, cells=model.tree.cells) for m in pairs]
        moved = moved_since(candidates, [expected[c] for c in candidates], model.project_many(candidates))
        ceilings: dict[Clique, float] = {}
        for score, pair in zip(choices, pairs, strict=True):
            # a later choice had weaker rivals and tells more
            ceilings |= choice_ceilings(score, pair, moved, selection=third / (len(domain) - 1), unit=curator.unit)
        return Fitted(MarkovGenerator(model), measured, trace, ceilings=ceilings)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        require_columns(domain, self.max_cells)
        pairs = sorted((domain.cells(pair) for pair in self._open(domain)), reverse=True)
        cells = min(self.max_cells, sum(domain.sizes) + sum(pairs[: len(domain) - 1]))
        share = 1 / 3
        steps = [("one-way marginals", share), ("selection", share), ("pairs", share)] if pairs else [("columns", 1.0)]
        seconds = 1.0 + 1e-5 * cells + 2e-5 * len(domain) * len(pairs)
        return Plan(steps, cells, seconds, candidates=len(pairs), usual=0.08)

    def _open(self, domain: Domain) -> list[Clique]:
        """Pairs that fit the model by themselves and can be counted together."""
        room = self.max_cells - sum(domain.sizes)
        return [p for p in countable(domain, list(combinations(domain.names, 2))) if domain.cells(p) <= room]

    def _joining(self, domain: Domain, candidates: list[Clique], tree: list[Clique]) -> list[Clique]:
        """Candidates that join two parts of the forest and still fit the model; tables that must be right join, too."""
        part = {name: i for i, name in enumerate(domain)}
        for first, *others in tree:
            old, new = {part[other] for other in others}, part[first]
            part = {name: new if p in old else p for name, p in part.items()}
        room = self.max_cells - tree_cells(domain, [*((name,) for name in domain), *tree])
        return [p for p in candidates if part[p[0]] != part[p[1]] and domain.cells(p) <= room]
