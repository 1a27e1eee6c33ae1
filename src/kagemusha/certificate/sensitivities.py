"""How far one person can move each event's answer, worked out again from the kind of its query."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kagemusha.certificate.certificate import FIRST_FORMAT, SECOND_FORMAT, Certificate
from kagemusha.privacy.asked import Asked, Fact
from kagemusha.privacy.events import (
    Event,
    ExponentialEvent,
    GenerationEvent,
    LaplaceEvent,
    SampledGaussianEvent,
    ThresholdEvent,
)
from kagemusha.privacy.reach import reach_of
from kagemusha.privacy.unit import Adjacency
from kagemusha.schema import Schema
from kagemusha.schema.features import cross_moment_facts, features_of, first_moment_facts, generation_facts

MOST_AXES = 8
"""Columns of one table; more could not be counted, and what they can move takes for ever to work out."""

_SCORES = {
    "L1 error": "l1-error",
    "grouped L1 error": "grouped-l1-error",
    "dependence (R)": "dependence",
    "mutual information": "mutual-information",
    "distance to a determined child (F)": "determined-child",
}
"""Scores by the names that the first two formats gave them."""

_GENERATED = ("width", "apart", "box", "boundaries")
_SUMS = ("added", "exchanged", "entries")
FACTS: Mapping[str, tuple[str, ...]] = {
    "counts": ("columns",),
    "values": ("columns",),
    "weighted-counts": ("columns", "weight", "most"),
    "broken-rules": ("rules",),
    "interaction": ("columns", "shape"),
    **dict.fromkeys(_SCORES.values(), ("candidates",)),
    "weighted-l1-error": ("candidates",),
    "first-moments": _SUMS,
    "cross-moments": _SUMS,
    "cell-lengths": ("candidates",),
    "class-sums": ("weight", "entries"),
    **dict.fromkeys(("norm-counts", "scatter", "mixture-sizes", "mixture-means", "mixture-scatter"), ("entries",)),
    "gradients": ("lattice",),
    "generated-rows": _GENERATED,
}
"""Every kind of query there is, and the facts it states."""

COUNTED = {
    *("counts", "values", "weighted-counts", "broken-rules", "interaction", "first-moments", "cross-moments"),
    *("generated-rows", *_SCORES.values()),
}
"""Kinds whose answer follows from counts; any other reads the codes of all rows."""

_OLD_WORDS = (
    (re.compile(r"(?:counts|coarse public grid|fine public grid) of .+"), "counts"),
    (re.compile(r"values of .+"), "values"),
    (re.compile(r"interaction of .+ in (?P<shape>\d{1,9}(?: × \d{1,9})*) groups"), "interaction"),
    (re.compile(r"best of (?P<count>\d{1,9}) candidates by (?P<score>.+)"), ""),
    (re.compile(r"(?P<score>.+) of (?P<count>\d{1,9}) candidates"), ""),
)
_OLD_SUMS = {
    "sums of features": ("first-moments", first_moment_facts),
    "sums of products of features": ("cross-moments", cross_moment_facts),
}
"""All that the first two formats said of an event; its query stood nowhere else."""


def is_old(certificate: Certificate) -> bool:
    """Whether the format is one in which events did not name their query."""
    return certificate.format in (FIRST_FORMAT, SECOND_FORMAT)


def reads_records(certificate: Certificate) -> bool:
    """Whether some event took more than counts from the table."""
    return any(event.query is None or event.query.kind not in COUNTED for event in certificate.events)


def wrong_sensitivities(certificate: Certificate, schema: Schema | None) -> list[str]:
    """Which events say another sensitivity than their query has, and why; `schema` if it is the certified one."""
    judged = ((event, _wrong(event, certificate, schema)) for event in dict.fromkeys(certificate.events))
    return [f"{event.what}: {why}" for event, why in judged if why]


def _wrong(event: Event, certificate: Certificate, schema: Schema | None) -> str:
    """Why an event's sensitivity is not what its query makes it; empty if it is."""
    if not event.is_protected:
        return "" if event.query is None else "a read without protection answers no query"
    query = event.query
    if is_old(certificate):
        if query is not None:
            return "its format does not name queries"
        if event.what in _OLD_SUMS and schema is None:
            return ""  # what features move follows from the schema, which is not here
        query = _asked_in_words(event.what, schema)
        if query is None:
            return "none of the words of its format"
    if query is None:
        return "it names no query"
    facts = dict(query.facts)
    return (
        _not_of_its_kind(event, query.kind, certificate)
        or _impossible(query.kind, facts, schema)
        or _not_as_far(event, query.kind, facts, certificate)
    )


def _not_of_its_kind(event: Event, kind: str, certificate: Certificate) -> str:
    """No mechanism answers every kind of query."""
    if isinstance(event, SampledGaussianEvent) or kind == "gradients":
        alike = isinstance(event, SampledGaussianEvent) and kind == "gradients"
        alike = alike and certificate.promised.adjacency is Adjacency.ADD_REMOVE and not is_old(certificate)
        return "" if alike else "sampled steps release gradients, under add-remove adjacency"
    if isinstance(event, GenerationEvent) or kind == "generated-rows":
        alike = isinstance(event, GenerationEvent) and kind == "generated-rows" and not is_old(certificate)
        return "" if alike else "draws release rows, and nothing else does"
    if isinstance(event, ThresholdEvent) != (kind == "values"):
        return "thresholds release values, and nothing else does"
    if isinstance(event, ExponentialEvent) and FACTS.get(kind) != ("candidates",):
        return "a choice is among candidates"
    return ""


def _impossible(kind: str, facts: Mapping[str, Fact], schema: Schema | None) -> str:
    """Why a query's facts cannot be; the columns and numbers of codes are those of the schema, if it is at hand."""
    if kind not in FACTS:
        return f"unknown kind of query {kind!r}"
    if set(facts) != set(FACTS[kind]):
        return f"a query of kind {kind!r} states {', '.join(FACTS[kind])}"
    names, shape = facts.get("columns", ()), facts.get("shape")
    if not isinstance(names, tuple) or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        return "its columns are not distinct names"
    if len(names) > MOST_AXES or (isinstance(shape, tuple) and len(shape) > MOST_AXES):
        return f"more than {MOST_AXES} columns in one table"
    if kind == "interaction" and (not isinstance(shape, tuple) or (names and len(shape) != len(names))):
        return "not one number of groups for each column"
    if schema is None:
        return ""
    if not all(n in schema.domain for n in names):
        return "its columns are not those of the schema"
    if kind == "interaction" and isinstance(shape, tuple) and names:
        sizes = [schema.domain.size(str(name)) for name in names]
        inside = all(isinstance(n, int) and 1 <= n <= size for n, size in zip(shape, sizes, strict=True))
        return "" if inside else "more groups than the schema has codes"
    if kind == "weighted-counts":
        weight, steps = schema.weight, schema.weights
        same = (
            weight is not None
            and steps is not None
            and facts["weight"] == weight.column
            and facts["most"] == steps.most
        )
        return "" if same else "not the weights of this schema"
    if kind == "broken-rules":
        asked = len({rule.rule for rule in schema.constraints if not rule.guess})
        return "" if facts["rules"] == asked else "not as many rules as the schema has in force"
    if kind == "first-moments" and facts != first_moment_facts(features_of(schema)):
        return "not the sums of this schema's features"
    if kind == "generated-rows" and facts != generation_facts(features_of(schema)):
        return "not the features of this schema"
    if kind == "cross-moments" and facts != cross_moment_facts(features_of(schema)):
        return "not the products of this schema's features"
    return ""


def _not_as_far(event: Event, kind: str, facts: Mapping[str, Fact], certificate: Certificate) -> str:
    """Why the event does not move as far as one person's rows move its query."""
    if isinstance(event, SampledGaussianEvent):
        return ""  # its noise is told in clip norms, which is what a person can move it by
    if isinstance(event, GenerationEvent):
        same = all(getattr(event, name) == facts[name] for name in _GENERATED)
        same = same and event.person == certificate.promised.rows
        return "" if same else "not what one person's rows move in this schema"
    unit = certificate.promised.unit
    moves = unit.sensitivity(reach_of(kind, facts))
    if isinstance(event, ExponentialEvent):
        return "" if facts.get("candidates") == event.candidates else "not as many candidates as its query has"
    if isinstance(event, LaplaceEvent):
        return "" if event.l1 == max(1, moves.l1) else f"l1 = {event.l1}, recomputed {moves.l1}"
    if isinstance(event, ThresholdEvent) and event.rows != unit.rows:
        return f"a threshold for {event.rows} rows"
    squared = getattr(event, "l2_squared", None)
    return "" if squared == max(1, moves.l2_squared) else f"l2² = {squared}, recomputed {moves.l2_squared}"


def _asked_in_words(what: str, schema: Schema | None) -> Asked | None:
    """The query behind an event of the first two formats, from its words; None if nothing wrote such words."""
    if what in _OLD_SUMS and schema is not None:
        kind, facts = _OLD_SUMS[what]
        return Asked.of(kind, facts(features_of(schema)), "")
    for words, kind in _OLD_WORDS:
        found = words.fullmatch(what)
        if not found:
            continue
        told = found.groupdict()
        if "score" in told:
            score = _SCORES.get(told["score"])
            return None if score is None else Asked.of(score, {"candidates": int(told["count"])}, "")
        shape = {"shape": tuple(map(int, told["shape"].split(" × ")))} if "shape" in told else {}
        return Asked.of(kind, {"columns": (), **shape}, "")
    return None
