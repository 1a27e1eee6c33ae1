"""One release of related tables, behind both entrances: as `release` does it for one table."""

from __future__ import annotations

from dataclasses import dataclass

from kagemusha.certificate.certificate import Certificate
from kagemusha.errors import UsageError
from kagemusha.folder.folder import claimed
from kagemusha.folder.related import counted_doubles, linkable, write_related
from kagemusha.ledger import Cap
from kagemusha.making.order import Order, find_cap, require_cap_fits
from kagemusha.making.release import JUDGING, require_free
from kagemusha.models.related import RelatedModel
from kagemusha.progress import Progress, part, silent
from kagemusha.quality.related import related_quality_files
from kagemusha.schema.related import Related
from kagemusha.synthesizers.registry import DEFAULT
from kagemusha.synthesizers.related_fit import PlannedRelated, plan_related

JUDGED = 20_000
"""Persons whose doubles are drawn for the quality statement."""


@dataclass(frozen=True, eq=False)
class MadeRelated:
    """A release of related tables that was made, and what its maker should hear of it."""

    certificate: Certificate
    model: RelatedModel
    cap: Cap | None
    capped_before: bool
    paid_before: bool


def planned_related(order: Order, related: Related) -> PlannedRelated:
    """Everything that can be refused, refused; the tables opened."""
    if order.allow_derived:
        raise UsageError("allow_derived (--allow-derived) is for one table; related tables do not have it so far")
    require_cap_fits(order.cap, order.budget.epsilon)
    method = order.method or DEFAULT
    related = related if order.target is None else related.with_target(order.target)
    synthesizer = Order(table=None, budget=order.budget, method=method, options=order.options).synthesizer(None)
    return plan_related(
        synthesizer,
        order.table,
        related,
        order.budget,
        named=order.ledger is not None,
        dataset=order.dataset,
        policy=order.policy,
        key=order.key,
        simulation=order.simulation,
        discover=order.discover,
        place=order.place,
        timeout=order.timeout,
    )


def make_related_model(order: Order, related: Related, *, progress: Progress = silent) -> RelatedModel:
    """Check everything, then fit the models of an order."""
    planned = planned_related(order, related)
    planned.require_readable()
    book = order.opened_ledger()
    order.settled(book, planned)
    return planned.carry_out(book, progress=progress)


def make_related_release(order: Order, related: Related, *, progress: Progress = silent) -> MadeRelated:
    """Check everything, then fit the models of an order and publish them."""
    output = order.output
    if output is None:
        raise UsageError("a release needs an output: the folder it is to be written in")
    signer = output.checked()
    with claimed(output.path) as place:
        planned = planned_related(order, related)
        release = planned.request.id
        book = order.existing_ledger()
        require_free(output, book, release)
        planned.require_readable()
        book = book or order.opened_ledger()
        paid_before = any(record.id == release and record.closed for record in book.releases())
        capped_before = order.settled(book, planned)
        model = planned.carry_out(book, hold=True, progress=part(progress, 0.0, 0.7))

        def remember(certificate: Certificate) -> None:
            book.close_release(certificate.release, certificate.digest())

        certificate = write_related(
            place,
            model,
            persons=output.rows,
            file_kind=output.file_kind,
            safe=output.spreadsheet_safe,
            signer=signer,
            before=remember,
            progress=part(progress, 0.7, 0.85),
        )
        progress(JUDGING, 0.85)
        if linkable(model.schema):
            doubles = counted_doubles(model, min(output.rows or model.rows, JUDGED))
            judged = related_quality_files(model, doubles, progress=part(progress, 0.9, 1.0))
            certificate = place.add(certificate, judged, signer=signer, before=remember)
    cap = find_cap(book, planned.request.dataset, planned.request.policy)
    return MadeRelated(certificate, model, cap, capped_before, paid_before)
