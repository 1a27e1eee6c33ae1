"""What a certificate says about criteria of acceptance, and whether that follows from what was released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kagemusha.certificate.acceptance import FIELDS
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.models.model import Model
from kagemusha.privacy.budget import is_whole
from kagemusha.queries.acceptance import KEPT, Excess, MeanWithin, TablesWithin, Tested, asked
from kagemusha.schema.demands import Criterion

WHAT = "acceptance"
BY_CONSTRUCTION = "nothing: doubles obey by construction, and no budget was spent"
KINDS = (TablesWithin.kind, MeanWithin.kind)


def in_fields(query: Tested, excess: Excess, rows: float) -> dict[str, Any]:
    """One answer for the certificate: what was demanded, what was released, what follows from that."""
    unit, scale = ("", 1.0) if query.criterion.mean is not None else (" %", 100.0)
    distance, noise = (scale * x for x in query.distance(excess, rows))
    found = f"about {distance:.3g}{unit}, give or take {noise:.2g}{unit}"
    fields = (query.criterion.words, excess.value, excess.answer, found)
    return dict(zip(FIELDS, fields, strict=True))


def answered(
    criteria: Sequence[Criterion], queries: Sequence[Tested], excesses: Sequence[Excess], rows: float
) -> list[dict[str, Any]]:
    """The answers to all criteria in their order; those that hold by construction say so."""
    tested = iter(zip(queries, excesses, strict=True))
    return [
        dict(zip(FIELDS, (one.words, 0, KEPT, BY_CONSTRUCTION), strict=True))
        if one.rules
        else in_fields(*next(tested), rows)
        for one in criteria
    ]


def acceptance_check(model: Model, certificate: Certificate) -> Check | None:
    """Every criterion of the schema was tested, and the answers follow from excesses and noise; None without any."""
    stated = certificate.parameters.get("acceptance", [])
    queries = asked(model.schema, model.project_many)
    events = [event for event in certificate.events if event.query is not None and event.query.kind in KINDS]
    criteria = model.schema.demands.accept
    if not criteria and not stated:
        return None
    records = [query.record for query in queries]
    if [event.query for event in events] != records or not isinstance(stated, list) or len(stated) != len(criteria):
        return Check(WHAT, False, "the answers, the events and the criteria of the schema are not the same")
    asked_about = [said for one, said in zip(criteria, stated, strict=True) if not one.rules]
    for query, event, said in zip(queries, events, asked_about, strict=True):
        value = said.get("excess") if isinstance(said, dict) else None
        excess = Excess(value, event.deviation) if value is not None and is_whole(value) else None
        if excess is None or in_fields(query, excess, model.generator.total) != said:
            return Check(WHAT, False, f"{query.criterion.words}: the answer does not follow from excess and noise")
    for one, said in zip(criteria, stated, strict=True):
        if one.rules and [said] != answered([one], [], [], model.generator.total):
            return Check(WHAT, False, f"{one.words}: that is not what follows from construction")
    answers = ", ".join(f"{said['criterion']}: {said['answer']}" for said in stated)
    return Check(WHAT, True, f"follows from what was released ({answers})")
