"""Where and how a release is written, and the second half of making one.

From a model to the folder that is handed out.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import CERTIFICATE, QUALITY
from kagemusha.certificate.keys import SigningKey, load_signing_key
from kagemusha.errors import UsageError, VerifyError
from kagemusha.folder.folder import Place, claimed, require_replaceable
from kagemusha.folder.pictures import picture_files
from kagemusha.generators.generator import MAX_ROWS
from kagemusha.ledger import Ledger
from kagemusha.models.model import Model
from kagemusha.progress import Progress, part, silent
from kagemusha.quality.statement import quality_files

JUDGING = "doubles and certificate are written; judging them"
"""What `publish` says when the release is whole and only its quality statement is missing."""

KINDS = ("csv", "parquet")


@dataclass(frozen=True, kw_only=True)
class Output:
    """A release folder that somebody wants.

    What can be wrong with it is found by `checked`, before anything is paid.
    """

    folder: str | PathLike[str]
    rows: int | None = None
    """Doubles to write; by default about as many as people."""
    file_kind: str = "csv"
    replace: bool = False
    spreadsheet_safe: bool = False
    """Whether texts of a CSV that a spreadsheet would run as formulas get an apostrophe before them."""
    sign: str | PathLike[str] | None = None

    def checked(self, most_rows: int | None = None) -> SigningKey | None:
        """Refuse what cannot be written, and load the key that signs it; `most_rows` is what the method will give."""
        if self.file_kind not in KINDS:
            raise UsageError(f"the file kind (--format) must be 'csv' or 'parquet', got {self.file_kind!r}")
        if self.spreadsheet_safe and self.file_kind != "csv":
            raise UsageError("--spreadsheet-safe (spreadsheet_safe) is for CSV: Parquet says itself what is a text")
        require_rows(self.rows, most_rows)
        return None if self.sign is None else load_signing_key(Path(self.sign))

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)


def require_rows(rows: int | None, most_rows: int | None = None) -> None:
    """Refuse a number of doubles that no table can have, or that the method will not give."""
    if rows is not None and not 1 <= rows <= MAX_ROWS:
        raise UsageError(f"rows (--rows) must be at least 1 and at most {MAX_ROWS:,}, got {rows}")
    if rows is not None and most_rows is not None and rows > most_rows:
        raise UsageError(
            f"rows (--rows) must be at most {most_rows:,}, got {rows:,}: the method releases so many rows and no more; "
            "pay for more with its option rows=N"
        )


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

    certificate = place.write(
        model,
        rows=output.rows,
        file_kind=output.file_kind,
        extra=picture_files(model),
        safe=output.spreadsheet_safe,
        signer=signer,
        before=remember,
        progress=part(progress, 0.0, 0.4),
    )
    progress(JUDGING, 0.4)
    judged = quality_files(model, rows=output.rows, progress=part(progress, 0.4, 0.95))
    progress("certifying", 0.95)
    return place.add(certificate, judged, signer=signer, before=remember)
