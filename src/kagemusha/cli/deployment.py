"""`register` and `dossier`: what an institution writes about a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kagemusha.cli.key import TrustedOption, trusted_keys
from kagemusha.cli.output import plain, say
from kagemusha.errors import OutputError, UsageError

if TYPE_CHECKING:
    from kagemusha.deployment.answers import Question
    from kagemusha.forensics.verify import Verdict

Folder = Annotated[Path, typer.Argument(help="The release folder.", show_default=False)]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        help="Your schema file: its section \\[deployment] holds the answers, and keeps new ones.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]

RECORD, METADATA = "deployment.yaml", "croissant.json"


def register(
    release: Folder,
    schema: SchemaFile = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write; by default RELEASE-record.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """Write the record of a release for the OpenDP registry of deployments, and Croissant metadata.

    What follows from the certificate is filled in. Seven facts only a person can say; they are asked once and kept in
    the schema file. The record goes to the registry by hand, as a pull request.
    """
    from kagemusha.certificate.beside import released_schema
    from kagemusha.certificate.inventory import Inventory
    from kagemusha.deployment import yaml
    from kagemusha.deployment.record import croissant, registry_record, require_guarantee
    from kagemusha.files import write_whole
    from kagemusha.folder.table_file import released_columns
    from kagemusha.schema import Schema

    verdict = _verified(release)
    require_guarantee(verdict.certificate)
    certificate, declared = verdict.certificate, released_schema(Inventory.of(release), verdict.certificate)
    if not isinstance(declared, Schema):
        raise UsageError(f"{release}: a record needs the release's schema.toml, of one table; several are not taken")
    folder = out or release.with_name(f"{release.resolve().name}-record")
    _require_outside(folder, release)
    if folder.exists() and not force:
        raise OutputError(f"{folder} already exists; add --force to replace the record")
    answers = _answers(schema)
    record = yaml.dumps(registry_record(certificate, declared, answers))
    metadata = croissant(certificate, declared, answers, released_columns(release))
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / RECORD, record.encode())
    write_whole(folder / METADATA, metadata.encode())
    say(f"[bold]{plain(folder)}[/]")
    say(f"  {RECORD}  for the registry of deployments, status Draft: read it once, then send it as a pull request")
    say(f"  {METADATA}   metadata that search engines for data sets read")


def dossier(
    release: Folder,
    schema: SchemaFile = None,
    ledger: Annotated[
        str | None, typer.Option(help="The custodian's ledger: what all releases cost together.", show_default=False)
    ] = None,
    trusted: TrustedOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Page to write; by default RELEASE-dossier.html.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """One page for whoever must decide on a release, in the order of NIST SP 800-226.

    What the released files say is filled in. What only you can say is taken from the section \\[deployment] of your
    schema file, and marked where it is missing. The page reads no table; it goes to the board, not into the release.
    """
    from kagemusha.deployment.answers import read_answers
    from kagemusha.deployment.dossier import dossier as page
    from kagemusha.deployment.dossier import quality_of
    from kagemusha.files import write_whole

    verdict = _verified(release, trusted)
    path = out or release.with_name(f"{release.resolve().name}-dossier.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out must end in .html, got {path.name!r}")
    _require_outside(path.parent, release)
    if path.exists() and not force:
        raise OutputError(f"{path} already exists; add --force to replace the page")
    answers = {} if schema is None else read_answers(schema)
    spent = None if ledger is None else _spent(ledger, verdict.certificate.release)
    write_whole(path, page(verdict, answers, quality=quality_of(release), spent=spent).encode())
    say(f"[bold]{plain(path)}[/]")


def _verified(release: Path, trusted: Path | None = None) -> Verdict:
    """A release that holds; nothing is written about one that does not."""
    from kagemusha.certificate.signature import Trust
    from kagemusha.forensics.verify import verify_release

    if not release.is_dir():
        raise UsageError(f"{release}: no such folder")
    verdict = verify_release(release, Trust.of(None, trusted_keys(trusted, must_exist=trusted is not None)))
    verdict.require()
    return verdict


def _require_outside(folder: Path, release: Path) -> None:
    if folder.resolve() == release.resolve() or release.resolve() in folder.resolve().parents:
        raise UsageError(f"{folder} is in the release, which holds what was certified and nothing else; choose --out")


def _answers(path: Path | None) -> dict[str, str]:
    """The answers of the schema file; what is missing is asked if somebody sits there, and kept."""
    from kagemusha.deployment.answers import keep_answers, missing, read_answers, snippet

    known = {} if path is None else read_answers(path)
    lacking = missing(known)
    if not lacking:
        return known
    if not sys.stdin.isatty():
        say("\n".join(plain(line) for line in snippet(lacking).split("\n")))
        fields = ", ".join(question.field for question in lacking)
        raise UsageError(f"{fields}: not answered yet; write these lines into {path or 'your schema file (--schema)'}")
    asked = {question.field: _ask(question) for question in lacking}
    if path is not None:
        keep_answers(path, asked)
        say(f"Kept in {plain(path)} under \\[deployment].")
    return known | asked


def _ask(question: Question) -> str:
    from kagemusha.cli.schema_answers import prompt

    words = f" ({', '.join(question.allowed)})" if question.allowed else ""
    while True:
        answer = prompt(f"{question.asked}{words}")
        if not (fault := question.fault(answer)):
            return answer
        say(f"[red]{plain(fault)}[/]")


def _spent(ledger: str, release: str) -> str:
    """What the ledger holds of the table of a release, in words."""
    from kagemusha.errors import LedgerError
    from kagemusha.ledger import ledger_exists, open_ledger
    from kagemusha.ledger.content import content_of

    if not ledger_exists(ledger):
        raise LedgerError(f"ledger {ledger}: no such file")
    content = content_of(open_ledger(ledger, read_only=True))
    dataset = next((one["dataset"] for one in content["releases"] if one["id"] == release), None)
    caps = [cap for cap in content["caps"] if cap["dataset"] == dataset]
    if not caps:
        raise UsageError(f"ledger {ledger} does not know this release")
    return "; ".join(
        f"cap “{cap['policy']}” of ε = {cap['epsilon']:g}, δ = {cap['delta']:g}, of which "
        f"{'more than all' if cap['used'] is None else format(cap['used'], '.0%')} is used"
        for cap in caps
    )
