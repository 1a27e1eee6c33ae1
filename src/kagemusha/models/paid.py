"""Every number in a model was paid for by an event, with that event's noise; and what events released is in the model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.certificate.sensitivities import is_old
from kagemusha.marginals import NoisyMarginal
from kagemusha.models.model import Model
from kagemusha.models.rows import RowsGenerator
from kagemusha.privacy.events import Event, GaussianEvent, GenerationEvent, LaplaceEvent
from kagemusha.queries.interactions import GroupedError, NoisyInteraction
from kagemusha.queries.query import Counts, Query, label

WHAT = "numbers inside the model"

GRIDS = ("coarse public grid", "fine public grid")
"""Counts that discovery takes of columns still without a domain; no model holds them."""


def paid_check(model: Model, certificate: Certificate) -> Check:
    """Measurements, interactions and scores against the events: columns, groups and noise of each."""
    if certificate.promised.is_finite and not certificate.events:
        return Check(WHAT, False, "nothing was paid for, but there is a model")
    drawn = [event.rows for event in certificate.events if isinstance(event, GenerationEvent)]
    held = [model.generator.most_rows] if isinstance(model.generator, RowsGenerator) else []
    if drawn != held:
        return Check(WHAT, False, f"rows that were paid for: {sum(drawn):,}; rows in the model: {sum(held):,}")
    left = defaultdict[Hashable, list[Event]](list)
    for event in certificate.events:
        left[_place_of(event)].append(event)
    for query, sigma, unit in _released(model):
        place = _place(query, words=is_old(certificate))
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
    words = is_old(certificate)
    other = {_place_of(event) for event in certificate.events if isinstance(event, LaplaceEvent)}
    counts = [m for m in model.measurements if _place(Counts(model.domain, m.clique), words=words) not in other]
    return counts, [one for one in model.interactions if _place(one.query, words=words) not in other]


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
    if event.query is None:
        return event.what
    return ("counts", dict(event.query.facts).get("columns")) if event.query.kind == "counts" else event.query


def _place(query: Query[object], *, words: bool) -> Hashable:
    """Where the events of a query are; those of old formats are known by their words."""
    if words:
        return query.what
    return ("counts", tuple(query.clique)) if isinstance(query, Counts) else query.asked


def _answers(event: Event, query: Query[object]) -> bool:
    """Whether the event is of this very query; counts may be called by another word."""
    if event.query is None:
        return event.what == query.what
    if isinstance(query, Counts):
        word = event.what.removesuffix(f" of {label(query.clique)}")
        return word not in GRIDS and event.query == replace(query, word=word).asked
    return event.query == query.asked


def _matching(paid: Sequence[Event], sigma: float, unit: float) -> list[Event]:
    """The events whose noise this is: one of them, or all where several answers were put together into one."""
    deviations = [_deviation(event) * unit for event in paid]
    for event, deviation in zip(paid, deviations, strict=True):
        if math.isclose(deviation, sigma, rel_tol=1e-9):
            return [event]
    together = sum(deviation**-2 for deviation in deviations)
    return list(paid) if together and math.isclose(together**-0.5, sigma, rel_tol=1e-9) else []


def _deviation(event: Event) -> float:
    if isinstance(event, LaplaceEvent):
        return math.sqrt(2) * event.scale
    return event.sigma if isinstance(event, GaussianEvent) else math.inf


def _belongs(event: Event, *, discovered: bool) -> bool:
    """Whether a model holds what the event released: counts and interactions, but no number of rows and no grids."""
    if not isinstance(event, GaussianEvent | LaplaceEvent) or event.what == f"counts of {label(())}":
        return False
    if discovered and event.what.startswith(GRIDS):
        return False
    if event.query is None:
        return event.what.startswith(("counts of ", "interaction of "))
    return event.query.kind in ("counts", "interaction")
