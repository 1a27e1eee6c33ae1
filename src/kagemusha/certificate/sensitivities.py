"""How far one person can move each event's answer, worked out again from the kind of its query."""

from __future__ import annotations

from kagemusha.certificate.certificate import Certificate
from kagemusha.privacy.budget import QueryRecord
from kagemusha.privacy.events import Event
from kagemusha.privacy.query_kinds import KINDS, impossible
from kagemusha.schema.declared import Declared


def reads_records(certificate: Certificate) -> bool:
    """Whether some event took more than counts from the table."""
    kinds = [None if event.query is None else event.query.kind for event in certificate.events]
    return any(kind is None or kind not in KINDS or not KINDS[kind].counted for kind in kinds)


def wrong_sensitivities(certificate: Certificate, schema: Declared | None) -> list[str]:
    """Which events say another sensitivity than their query has, and why; `schema` if it is the certified one."""
    judged = ((event, _wrong(event, certificate, schema)) for event in dict.fromkeys(certificate.events))
    return [f"{event.what}: {why}" for event, why in judged if why]


def _wrong(event: Event, certificate: Certificate, schema: Declared | None) -> str:
    query = event.query
    odd = ""
    if query is not None and event.is_protected:
        odd = _elsewhere(query, certificate)
        seen = None if schema is None or odd else schema.view(query.table)
        odd = odd or impossible(query.kind, dict(query.facts), seen)
    return odd or event.fault(certificate.promised.unit)


def _elsewhere(query: QueryRecord, certificate: Certificate) -> str:
    """Why the query is of no table of the release, or counts a record there as something else; empty if all is well."""
    if query.table not in certificate.tables:
        return f"there is no table {query.table!r}" if query.table else "it names no table"
    rows = certificate.tables[query.table]
    return "" if query.rows == rows else f"a record is {query.rows} rows of {query.table or 'the table'}, not {rows}"
