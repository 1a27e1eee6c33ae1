"""What a certificate says about criteria of acceptance, and whether that follows from what was released."""

from __future__ import annotations

from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.models.model import Model
from kagemusha.privacy.budget import is_whole
from kagemusha.queries.acceptance import Excess, MeanWithin, TablesWithin, Tested, asked

WHAT = "acceptance"
KINDS = (TablesWithin.kind, MeanWithin.kind)


def in_fields(query: Tested, excess: Excess, rows: float) -> dict[str, Any]:
    """One answer for the certificate: what was demanded, what was released, what follows from that."""
    distance, noise = query.distance(excess, rows)
    return {
        "criterion": query.criterion.words,
        "excess": excess.value,
        "answer": excess.answer,
        "distance": float(f"{distance:.3g}"),
        "noise": float(f"{noise:.3g}"),
    }


def acceptance_check(model: Model, certificate: Certificate) -> Check | None:
    """Every criterion of the schema was tested, and the answers follow from excesses and noise; None without any."""
    stated = certificate.parameters.get("acceptance", [])
    queries = asked(model.schema, model.project_many)
    events = [event for event in certificate.events if event.query is not None and event.query.kind in KINDS]
    if not queries and not stated:
        return None
    records = [query.record for query in queries]
    if [event.query for event in events] != records or not isinstance(stated, list) or len(stated) != len(queries):
        return Check(WHAT, False, "the answers, the events and the criteria of the schema are not the same")
    for query, event, said in zip(queries, events, stated, strict=True):
        value = said.get("excess") if isinstance(said, dict) else None
        if not is_whole(value) or in_fields(query, Excess(value, event.deviation), model.generator.total) != said:
            return Check(WHAT, False, f"{query.criterion.words}: the answer does not follow from excess and noise")
    answers = ", ".join(f"{said['criterion']}: {said['answer']}" for said in stated)
    return Check(WHAT, True, f"follows from what was released ({answers})")
