"""One function makes a release, and one the model of it; the command line and Python both call them.

Everything that can be refused is refused first, cheapest first; then the ledger is opened, once; then it is paid for,
read, and written. The place of the folder is held from before the first look at the table until the last file is in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kagemusha.certificate.certificate import Certificate
from kagemusha.errors import UsageError
from kagemusha.folder.folder import claimed
from kagemusha.ledger import Cap
from kagemusha.making.order import Order, find_cap
from kagemusha.making.output import require_free, require_rows, written
from kagemusha.models.model import Model
from kagemusha.progress import Progress, part, silent


@dataclass(frozen=True, eq=False)
class Made:
    """A release that was made, and what its maker should hear of it."""

    certificate: Certificate
    model: Model
    rows: int
    method: str
    cap: Cap | None
    """The cap it was paid out of, as it stands now."""
    capped_before: bool
    """Whether somebody had set that cap, or it is this release's own budget."""
    paid_before: bool
    """Whether all its answers came from the ledger."""


def make_model(order: Order, *, progress: Progress = silent) -> Model:
    """Check everything, then fit the model of an order."""
    declared = order.declared()
    synthesizer = order.synthesizer(declared)
    require_rows(order.rows, synthesizer.most_rows)
    planned = order.planned(synthesizer, declared)
    planned.require_readable()
    book = order.opened_ledger()
    order.settled(book, planned)
    return planned.carry_out(book, progress=progress)


def make_release(order: Order, *, progress: Progress = silent) -> Made:
    """Check everything, then fit the model of an order and publish it."""
    output = order.output
    if output is None:
        raise UsageError("a release needs an output: the folder it is to be written in")
    declared = order.declared()
    synthesizer = order.synthesizer(declared)
    signer = output.checked(synthesizer.most_rows)
    with claimed(output.path) as place:
        planned = order.planned(synthesizer, declared)
        release = planned.request.id
        book = order.existing_ledger()
        require_free(output, book, release)
        planned.require_readable()
        book = book or order.opened_ledger()
        paid_before = any(record.id == release and record.closed for record in book.releases())
        capped_before = order.settled(book, planned)
        model = planned.carry_out(book, hold=True, progress=part(progress, 0.0, 0.65))
        certificate = written(place, model, output, signer, book, progress=part(progress, 0.65, 1.0))
    request = planned.request
    cap = find_cap(book, request.dataset, request.policy)
    rows = output.rows or model.rows
    return Made(certificate, model, rows, synthesizer.name, cap, capped_before, paid_before)
