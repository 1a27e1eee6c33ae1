"""One function makes a release, and one the model of it; the command line and Python both call them.

Everything that can be refused is refused first, cheapest first; then the ledger is opened, once; then it is paid for,
read, and written. The place of the folder is held from before the first look at the table until the last file is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import CERTIFICATE, QUALITY
from kagemusha.certificate.keys import SigningKey
from kagemusha.errors import UsageError, VerifyError
from kagemusha.folder.folder import Place, claimed, require_replaceable
from kagemusha.folder.pictures import picture_files
from kagemusha.ledger import Cap, Ledger
from kagemusha.making.order import Order, Output, find_cap, require_rows
from kagemusha.models.model import Model
from kagemusha.progress import Progress, part, silent
from kagemusha.quality.statement import quality_files

JUDGING = "doubles and certificate are written; judging them"
"""What `publish` says when the release is whole and only its quality statement is missing."""


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


def require_free(output: Output, book: Ledger | None = None, release: str | None = None) -> None:
    """Refuse a folder in which there is anything that may not be replaced.

    A run that was killed between its folder and its quality pages goes on: with a `release`, the folder that the `book`
    knows as that release's, and that lacks those pages, counts as its own.
    """
    path = output.path
    own = not output.replace and release is not None and book is not None and _is_unfinished(path, book, release)
    require_replaceable(path, replace=output.replace or own)


def _is_unfinished(folder: Path, book: Ledger, release: str) -> bool:
    if not (folder / CERTIFICATE).is_file() or any((folder / name).exists() for name in QUALITY):
        return False
    try:
        certificate = Certificate.from_json((folder / CERTIFICATE).read_text(encoding="utf-8"))
    except (VerifyError, OSError, ValueError):
        return False
    known = next((record.certificate or "" for record in book.releases() if record.id == release), "")
    return certificate.release == release and certificate.digest() in known.split()


def publish_to(model: Model, output: Output, book: Ledger | None, *, progress: Progress = silent) -> Certificate:
    """Write a model as a release folder, which nobody else writes meanwhile."""
    signer = output.checked()
    with claimed(output.path) as place:
        require_free(output, book, model.certificate.release)
        return written(place, model, output, signer, book, progress=progress)


def written(
    place: Place,
    model: Model,
    output: Output,
    signer: SigningKey | None,
    book: Ledger | None,
    *,
    progress: Progress = silent,
) -> Certificate:
    """The release in its place: first whole and known to the ledger, then with its quality pages, known again.

    The ledger comes first both times. Whatever stops the run leaves no folder that the ledger does not know.
    """

    def remember(certificate: Certificate) -> None:
        if book is not None:
            book.close_release(certificate.release, certificate.digest())

    shape = model.domain.picture_shape
    certificate = place.write(
        model,
        rows=output.rows,
        file_kind=output.file_kind,
        extra={} if shape is None else picture_files(model, shape),
        safe=output.spreadsheet_safe,
        signer=signer,
        before=remember,
        progress=part(progress, 0.0, 0.4),
    )
    progress(JUDGING, 0.4)
    judged = quality_files(model, rows=output.rows, progress=part(progress, 0.4, 0.95))
    progress("certifying", 0.95)
    return place.add(certificate, judged, signer=signer, before=remember)
