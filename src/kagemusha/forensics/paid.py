"""Every number in a model was paid for by an event, with that event's noise.

And what events released is in the model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.generators.rows import RowsGenerator
from kagemusha.marginals import NoisyMarginal
from kagemusha.models.model import Model
from kagemusha.privacy.events import Event
from kagemusha.privacy.query_kinds import KINDS
from kagemusha.queries.interactions import GroupedError, NoisyInteraction
from kagemusha.queries.query import Counts, Query, label

WHAT = "numbers inside the model"

GRIDS = ("coarse public grid", "fine public grid")
"""Counts that discovery takes of columns still without a domain; no model holds them."""


def paid_check(model: Model, certificate: Certificate) -> Check:
    """Measurements, interactions and scores against the events: columns, groups and noise of each."""
    if certificate.promised.is_finite and not certificate.events:
        return Check(WHAT, False, "nothing was paid for, but there is a model")
    drawn = [rows for event in certificate.events if (rows := event.drawn_rows) is not None]
    held = [model.generator.most_rows] if isinstance(model.generator, RowsGenerator) else []
    if drawn != held:
        return Check(WHAT, False, f"rows that were paid for: {sum(drawn):,}; rows in the model: {sum(held):,}")
    left = defaultdict[Hashable, list[Event]](list)
    for event in certificate.events:
        left[_place_of(event)].append(event)
    for query, sigma, unit in _released(model):
        place = _place(query)
        found = _matching([event for event in left[place] if _answers(event, query)], sigma, unit)
        if not found:
            return Check(WHAT, False, f"no event pays for {query.what} with this noise")
        for event in found:
            left[place].remove(event)
    for event in (event for events in left.values() for event in events):
        if _belongs(event, discovered="discovered" in certificate.parameters):
            return Check(WHAT, False, f"an event released {event.what}, which the model does not hold")
    return Check(WHAT, True, "were all paid for, with the noise that the events say")


def bell_shaped(model: Model, certificate: Certificate) -> tuple[list[NoisyMarginal], list[NoisyInteraction]]:
    """The counts and interactions of a model into which nothing but Gaussian noise went, by what their events say."""
    other = {_place_of(event) for event in certificate.events if not event.bell_shaped}
    counts = [m for m in model.measurements if _place(Counts(model.domain, m.clique)) not in other]
    return counts, [one for one in model.interactions if _place(one.query) not in other]


def _released(model: Model) -> Iterator[tuple[Query[object], float, float]]:
    """Every released answer in the model: its query, its noise, and what one integer of the answer is worth there."""
    for marginal in model.measurements:
        yield Counts(model.domain, marginal.clique), marginal.sigma, 1.0
    for released in model.interactions:
        yield released.query, released.sigma, 1 / released.query.scale
    if model.scores is not None:
        query = GroupedError(model.scores.pairs, [], [])
        yield query, model.scores.sigma, query.released(np.zeros(1, dtype=np.int64), 1.0).sigma


def _place_of(event: Event) -> Hashable:
    """Events of one place may answer the same query."""
    query = event.query
    return ("counts", dict(query.facts).get("columns")) if query is not None and query.kind == Counts.kind else query


def _place(query: Query[object]) -> Hashable:
    """Where the events of a query are."""
    return ("counts", tuple(query.cliques()[0])) if query.kind == Counts.kind else query.record


def _answers(event: Event, query: Query[object]) -> bool:
    """Whether the event is of this very query; counts may be called by another word."""
    if isinstance(query, Counts):
        word = event.what.removesuffix(f" of {label(query.clique)}")
        return word not in GRIDS and event.query == replace(query, word=word).record
    return event.query == query.record


def _matching(paid: Sequence[Event], sigma: float, unit: float) -> list[Event]:
    """The events whose noise this is: one of them, or all where several answers were put together into one."""
    deviations = [event.deviation * unit for event in paid]
    for event, deviation in zip(paid, deviations, strict=True):
        if math.isclose(deviation, sigma, rel_tol=1e-9):
            return [event]
    together = sum(deviation**-2 for deviation in deviations)
    return list(paid) if together and math.isclose(together**-0.5, sigma, rel_tol=1e-9) else []


def _belongs(event: Event, *, discovered: bool) -> bool:
    """Whether a model holds what the event released: counts and interactions, but no number of rows and no grids."""
    kept = event.query is not None and KINDS[event.query.kind].kept
    grid = discovered and event.what.startswith(GRIDS)
    return kept and not grid and event.what != f"counts of {label(())}"
