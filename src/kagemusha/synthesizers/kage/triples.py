"""When pairs are known precisely: a look at how far triples are from the model, then the rest of the budget.

The rest goes to the triples worth their noise and to the same pairs again, whichever lowers the error more. Measuring
a pair twice tells as much as measuring it once for the sum of both costs, so waiting with a part of the budget loses
nothing but what the look costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kagemusha.graphical import GrowingTree
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.queries.interactions import GroupedError, Interaction, NoisyInteraction, combined, grouped
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.candidates import COUNTED_CELLS, MEAN_ABSOLUTE, gaussian_sigma
from kagemusha.synthesizers.kage.choice import shrunk
from kagemusha.synthesizers.kage.grouping import on_groups
from kagemusha.synthesizers.kage.interaction_fit import InteractionFit
from kagemusha.synthesizers.kage.state import Measurements
from kagemusha.synthesizers.kage.triple_choice import TripleChoice, candidate_triples, choose_triples

TRIPLE_SCORES = 0.02
"""Share of the whole budget for the distances of all triples from the model."""

MOST_CELLS_OF_TRIPLE = 1 << 16
"""Of a triple, over its groups."""


def second_look(
    curator: Curator,
    known: Measurements,
    fit: InteractionFit,
    strengths: Mapping[Clique, float],
    *,
    importance: Callable[[Clique], float],
    kept: float,
    max_cells: int,
) -> Measurements:
    """More interactions than before, or the same ones with less noise. All that is left is spent if there are any.

    `strengths` says how dependent pairs are, `importance` how much a triple counts, `kept` which share of noise
    estimation leaves. The junction tree keeps within `max_cells`.
    """
    queries = _queries(curator, known, strengths)
    choice = TripleChoice((), ())
    if queries:
        score = _distances(known, fit, queries)
        (noisy,) = curator.answer([score], TRIPLE_SCORES * curator.total)
        tree = GrowingTree(known.coarse, max_cells, [m.query.clique for m in known.interactions])
        # in records, the noise over all cells of an interaction is E|Z|·√(Δ²/2ρ)
        noise = kept * MEAN_ABSOLUTE
        choice = choose_triples(
            [q.clique for q in queries],
            shrunk(noisy.values, noisy.sigma),
            np.sqrt([float(curator.unit.sensitivity(q.sensitivity).l2_squared) for q in queries]),
            np.array([importance(q.clique) for q in queries]),
            tree.add,
            columns=len(known.domain),
            noise=noise / math.sqrt(2 * curator.remaining),
            pair_noise={m.query.clique: noise * m.sigma * m.query.scale for m in known.interactions},
            before=sum(_cost(m, curator.unit) for m in known.interactions) / curator.remaining,
        )
    return _spend(curator, known, [queries[i] for i in choice.triples], choice)


def _queries(curator: Curator, known: Measurements, strengths: Mapping[Clique, float]) -> list[Interaction]:
    typical = gaussian_sigma(curator.unit, curator.remaining / len(known.domain))
    queries = [known.query(t, typical) for t in candidate_triples(known.domain, strengths, COUNTED_CELLS)]
    return [q for q in queries if min(q.shape) > 1 and q.scale <= MOST_CELLS_OF_TRIPLE]


def _distances(known: Measurements, fit: InteractionFit, queries: list[Interaction]) -> GroupedError:
    expected = fit.field.project_many([q.clique for q in queries])
    estimates = [grouped(table, on_groups(q, known.groups).groups) for table, q in zip(expected, queries, strict=True)]
    return GroupedError([q.clique for q in queries], [q.groups for q in queries], estimates)


def _cost(measured: NoisyInteraction, unit: PrivacyUnit) -> float:
    """What a measurement was given (ρ)."""
    return unit.sensitivity(measured.query.sensitivity).l2_squared / (2 * (measured.sigma * measured.query.scale) ** 2)


def _spend(curator: Curator, known: Measurements, triples: list[Interaction], choice: TripleChoice) -> Measurements:
    left = curator.remaining
    before = [_cost(m, curator.unit) for m in known.interactions]
    again = [choice.pairs * left * cost / sum(before) for cost in before] if choice.pairs else []
    pairs = [m.query for m in known.interactions[: len(again)]]
    released = curator.answer([*triples, *pairs], [*(share * left for share in choice.shares), *again])
    new, repeated = released[: len(triples)], released[len(triples) :]
    merged = [combined(*two) for two in zip(known.interactions, repeated, strict=False)]
    return replace(known, interactions=[*(merged or known.interactions), *new])
