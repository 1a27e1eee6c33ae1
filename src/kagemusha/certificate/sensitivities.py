"""How far one person can move each event's answer, worked out again from the kind of its query."""

from __future__ import annotations

from kagemusha.certificate.certificate import Certificate
from kagemusha.privacy.events import Event
from kagemusha.privacy.query_kinds import KINDS, impossible
from kagemusha.schema import Schema


def reads_records(certificate: Certificate) -> bool:
    """Whether some event took more than counts from the table."""
    kinds = [None if event.query is None else event.query.kind for event in certificate.events]
    return any(kind is None or kind not in KINDS or not KINDS[kind].counted for kind in kinds)


def wrong_sensitivities(certificate: Certificate, schema: Schema | None) -> list[str]:
    """Which events say another sensitivity than their query has, and why; `schema` if it is the certified one."""
    judged = ((event, _wrong(event, certificate, schema)) for event in dict.fromkeys(certificate.events))
    return [f"{event.what}: {why}" for event, why in judged if why]


def _wrong(event: Event, certificate: Certificate, schema: Schema | None) -> str:
    query = event.query
    known = query is not None and event.is_protected
    odd = impossible(query.kind, dict(query.facts), schema) if known and query is not None else ""
    return odd or event.fault(certificate.promised.unit)
