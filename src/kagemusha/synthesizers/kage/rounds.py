"""The loop of kage: look, believe, allocate, measure, fit, once per instalment.

Measuring a set of columns twice tells as much as measuring it once at the sum of both costs, so nothing is lost by
waiting with a part of the budget until a model says what it does not know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kagemusha.generators.generator import PairScores, Round
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical import GrowingTree
from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import NoisyInteraction, combined
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.candidates import MEAN_ABSOLUTE, gaussian_sigma
from kagemusha.synthesizers.kage.beliefs import (
    Beliefs,
    PairLook,
    column_errors,
    look_at_pairs,
    look_at_triples,
)
from kagemusha.synthesizers.kage.choice import Candidates, Choice, choose, topped_up
from kagemusha.synthesizers.kage.columns import columns_of, measure_columns
from kagemusha.synthesizers.kage.constants import (
    LADDER,
    MARGIN,
    PASSES,
    TRIPLES,
    TYPICAL,
)
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.measurements import Measurements, grown
from kagemusha.synthesizers.kage.required import columns_in, interactions_of
from kagemusha.synthesizers.protocol import Fitted

ALL_COLUMNS = -1
"""Stands for all columns where candidates go by their place."""

Importance = Callable[[Clique], float]


@dataclass(frozen=True)
class Shares:
    """Of the whole budget: for the first look at columns, for the distances of all pairs, and the rest."""

    columns: float
    scores: float

    @property
    def rest(self) -> float:
        """For what is measured."""
        return 1 - self.columns - self.scores


@dataclass
class Run:
    """What one run of kage has released so far, what it believes, and its model."""

    curator: Curator
    max_cells: int
    importance: Importance
    known: Measurements = field(init=False)
    marginals: list[NoisyMarginal] = field(default_factory=list)
    look: PairLook | None = None
    """None where there is no pair."""
    beliefs: Beliefs | None = None
    measured: dict[int, NoisyInteraction] = field(default_factory=dict)
    had: dict[int, float] = field(default_factory=dict)
    """What each candidate has cost since the look (ρ)."""
    choice: Choice | None = None
    model: InteractionFit | None = None
    triple: float = 0.0
    """How much a triple counts beside a pair."""
    first: float = 0.0
    """What columns had cost before."""

    @cached_property
    def given(self) -> Sequence[NoisyInteraction]:
        """What tables that must be right say of pairs; paid for before."""
        required = self.curator.required
        return interactions_of(self.curator.domain, required) if required else ()

    @property
    def limits(self) -> list[int]:
        """Cells that the model may have, smallest first."""
        return [int(part * self.max_cells) for part in LADDER]

    @property
    def pairs(self) -> int:
        """How many there are."""
        return 0 if self.look is None else len(self.look.pairs)

    def measure_columns(self, cost: float) -> None:
        """Every column, for the first time or once more."""
        self.marginals += measure_columns(self.curator, cost)
        given = columns_in(self.curator.required) if self.curator.required else ()
        columns = columns_of(self.curator, [*self.marginals, *given])
        if self.first:
            self.known = replace(self.known, columns=columns)
        else:
            known = Measurements.of_columns(self.curator.domain, columns)
            self.first, self.known = cost, replace(known, kept=[m.clique for m in self.curator.required])

    def look_at_pairs(self, pairs: list[Clique], shares: Shares) -> None:
        """How far every pair is from independence."""
        sizes = self.curator.domain.sizes
        typical = shares.rest * self.curator.total / min(len(pairs), TYPICAL * len(sizes))
        self.known, self.look, self.beliefs = look_at_pairs(
            self.curator,
            self.known,
            pairs,
            typical=gaussian_sigma(self.curator.unit, typical),
            # the tables that share groups out among codes stay within half the limit
            most=max(1, self.max_cells // (2 * sum(sizes))),
            spent=self.first,
            cost=shares.scores * self.curator.total,
            importance=np.array([self.importance(pair) for pair in pairs]),
        )

    def look_at_triples(self, choice: Choice) -> bool:
        """How far triples are from the model, where it has room for nearly all chosen pairs and these are precise.

        Whether any were looked at.
        """
        if self.beliefs is None or self.model is None:
            return False
        tree = GrowingTree(self.known.coarse, self.known.room(choice.cells, self.max_cells), self.known.kept)
        fitting = sum(tree.add(self.beliefs.cliques[i]) for i in choice.taken)
        expected = float(choice.expected.mean())
        if fitting < (1 - MARGIN) * len(choice.taken) or expected >= TRIPLES * self.known.columns.total:
            return False
        found = look_at_triples(
            self.curator,
            self.known,
            self.model.field,
            self.beliefs,
            spent=self.first + self.had.get(ALL_COLUMNS, 0.0),
            cost=TRIPLES * self.curator.total,
        )
        if found is None:
            return False
        triples, distance = found
        self.beliefs = self.beliefs.and_also(triples)
        # a share off the mean error of triples is worth as much as the same share off that of pairs
        self.triple = expected / max(distance, expected) * self.pairs / math.comb(len(self.known.domain), 3)
        return True

    def allocate(self, importance: Importance | None = None, *, paths: bool = False) -> Choice:
        """What to have measured in the end, and the share of each of all that the looks left. Reads nothing.

        With `paths` for now only what no path of strong pairs says: there will be a model to ask.
        """
        if self.look is None or self.beliefs is None:
            return Choice((), (), 1.0, 0.0, np.zeros(0))
        seen, count = self.beliefs, len(self.look.pairs)
        whole = sum(self.had.values()) + self.curator.remaining
        column = column_errors(self.known, self.curator.unit, whole)
        unknown = seen.signal
        covered = np.array([any(set(c) <= set(kept) for kept in self.known.kept) for c in seen.cliques])
        if self.model is not None:
            others = np.array([i not in self.measured for i in range(count)]) & ~covered[:count]
            unknown = np.concatenate([self.look.unknown(self.model.field, others), unknown[count:]])
        unknown, floor = np.where(covered, 0.0, unknown), np.where(covered, 0.0, seen.floor)
        # whoever learns from a target adds up what little each of its pairs says: all are measured, drowned or not
        named = np.array([self.importance(query.clique) > 1 and min(query.shape) > 1 for query in seen.queries])
        named[count:] = False
        named &= ~covered
        wanted = [i for i in np.argsort(-seen.signal, kind="stable").tolist() if named[i] and i not in self.measured]
        candidates = Candidates(
            seen.cliques,
            seen.signal,
            unknown,
            seen.strength,
            seen.weights,
            np.array([sum(column[n] ** 2 for n in c) if len(c) == 2 else 0.0 for c in seen.cliques]),
            np.array([(importance or self.importance)(c) * (1 if len(c) == 2 else self.triple) for c in seen.cliques]),
            floor,
            seen.rest,
            noise=MEAN_ABSOLUTE * gaussian_sigma(self.curator.unit, whole),
            before=self.first / whole,
            alone=sum(column.values()) * count / len(column),
        )
        room = self.max_cells - self.known.shared_out
        return choose(
            candidates,
            lambda limit: GrowingTree(self.known.coarse, min(limit, room), self.known.kept).add,
            [limit for limit in self.limits if self.choice is None or limit >= self.choice.cells],
            paths=paths,
            # rows are traded towards pairs only, and for want of a model nobody knows which of them need it
            outside=self.model is not None and len(seen.queries) == count,
            start=[*self.measured, *wanted],
        )

    def measure(self, choice: Choice, cost: float) -> list[NoisyInteraction]:
        """Bring what columns and candidates have had in all towards the shares that were chosen; the answers."""
        self.choice = choice
        wanted = {ALL_COLUMNS: choice.columns, **dict(zip(choice.taken, choice.shares, strict=True))}
        costs = topped_up(self.had, {i: share for i, share in wanted.items() if share > 0}, cost)
        for i, part in costs.items():
            self.had[i] = self.had.get(i, 0.0) + part
        if (columns := costs.pop(ALL_COLUMNS, 0.0)) > 0:
            self.measure_columns(columns)
        queries = self.beliefs.queries if self.beliefs is not None else ()
        answers = self.curator.answer([queries[i] for i in costs], list(costs.values()))
        new = dict(zip(costs, answers, strict=True))
        # in the order of the choice, in which the tree has room for them
        for i in choice.taken:
            if i in new:
                self.measured[i] = combined(self.measured[i], new[i]) if i in self.measured else new[i]
        return answers

    def fit_model(self, *, last: bool = True) -> None:
        """A model of all that was measured; before the last one it only has to say what it does not know."""
        known = replace(self.known, interactions=[*self.given, *self.measured.values()], outside=())
        cells = max(self.choice.cells if self.choice is not None else 0, self.limits[0])
        self.known, self.model = grown(
            known,
            max_cells=known.room(cells, self.max_cells),
            importance=self.importance,
            start=self.model.theta if self.model is not None else None,
            steps=None if last else PASSES[0],
        )

    def generator(self) -> MarkovGenerator:
        """The model over all codes."""
        assert self.model is not None, "fitted first"
        return self.known.generator(self.model)

    def fitted(self) -> Fitted:
        """The model, and everything that was released on the way."""
        everything = (*self.known.interactions, *self.known.outside)
        measured = [m for m in everything if not any(m is given for given in self.given)]
        generator = self.generator()
        trace = [Round(m.query.clique, m.sigma, 1.0, cells=generator.field.tree.cells) for m in measured]
        found = Fitted(generator, self.marginals, trace, interactions=measured)
        if self.look is None or self.choice is None:
            return found
        scores = PairScores(self.look.pairs, self.look.scores.values, self.look.scores.sigma, self.look.groups)
        expected = float(self.choice.expected[: len(self.look.pairs)].mean()) / self.known.columns.total
        return replace(found, scores=scores, expected=min(2.0, expected))
