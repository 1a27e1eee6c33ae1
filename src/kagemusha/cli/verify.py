"""`verify`: re-check a release without the data, and say who signed it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.certificate.signature import Standing, Trust
from kagemusha.cli.key import TrustedOption, trusted_keys
from kagemusha.cli.options import JsonOption
from kagemusha.cli.output import about, plain, progress_bar, say, say_json, speech, spoken
from kagemusha.errors import UsageError
from kagemusha.words.catalogue import Say, noted

if TYPE_CHECKING:
    from kagemusha.forensics.verify import Verdict

STANDINGS = {
    Standing.SIGNED: noted("intact and signed by {signer} (key {key})"),
    Standing.UNSIGNED: noted("intact but signed by nobody: who made it cannot be known"),
    Standing.UNTRUSTED: noted("intact but signed by a key you do not trust ({key})"),
}
"""The verdicts that are said in other languages, too."""


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="certificate.json, or the folder that holds it.", show_default=False)
    ],
    ledger: Annotated[
        str | None, typer.Option(help="Also compare the release with the custodian's ledger.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="A public key: the release must be signed with it.", show_default=False)
    ] = None,
    trusted: TrustedOption = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Also make the certificate's page in --language, from what was verified; a file that is there must be "
            "that very page.",
            show_default=False,
        ),
    ] = None,
    quality_page: Annotated[
        Path | None,
        typer.Option(
            help="Also make the page that says what the doubles can be used for, in --language, from the verified "
            "model; a file that is there must be that very page.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language of --page and --quality-page, en or ja; by default the one that the command line speaks.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute every number and hash of a release, offline, and say who signed it.

    Exits with 8 if anything does not match, and with 10 if it does but the key that signed is expired or revoked. With
    --key or --trusted a signature by one of these keys is needed; without one it exits with 10, too.
    """
    from kagemusha.forensics.verify import verify_release

    demanded = key is not None or trusted is not None
    trust = Trust.of(key, trusted_keys(trusted, must_exist=trusted is not None))
    verdict = verify_release(certificate, trust, demanded=demanded)
    read = verdict.certificate
    if ledger is not None:
        verdict = verdict.with_check(_ledger_check(ledger, read.release, verdict.digest))
    words = speech()
    pages = {page: _certificate_page, quality_page: _quality_page}
    for path, text in pages.items():
        if path is not None and verdict.intact:
            verdict = verdict.with_check(_page(path, certificate, text(certificate, read, language or spoken())))
    if as_json:
        say_json(
            {
                "passed": verdict.accepted,
                "intact": verdict.intact,
                "epsilon": read.epsilon,
                "delta": read.promised.delta,
                "signature": {
                    "standing": verdict.signed.standing,
                    "signer": verdict.signed.signer,
                    "key": verdict.signed.key,
                },
                "checks": [
                    {"what": c.what, "passed": c.passed, "detail": c.detail, "caution": c.caution}
                    for c in verdict.checks
                ],
            }
        )
    else:
        for check in verdict.checks:
            say(f"{_mark(check)} {plain(check.what)}: {plain(check.detail)}")
    verdict.require()
    if not as_json:
        say(f"[bold]{plain(_verdict(verdict, words))}[/]")
        for caution in verdict.cautions:
            say(f"[yellow]{words('but')}[/] {plain(caution)}")
        promise = f"{read.promised.in_words(words)}. {about(read, words)}"
        say(
            f"[bold]{plain(promise)}[/]"
            if not read.broken_because
            else f"[red bold]{words('ε = ∞: the certificate itself says there is no guarantee')}[/]"
        )


def _verdict(verdict: Verdict, words: Say) -> str:
    """The verdict in the reader's language; what does not hold is named as the checks are."""
    if not verdict.intact or verdict.signed.standing not in STANDINGS or spoken() == "en":
        return verdict.sentence
    return words(STANDINGS[verdict.signed.standing], key=verdict.signed.key, signer=verdict.signed.signer)


def _certificate_page(_: Path, read: Certificate, language: str) -> str:
    from kagemusha.certificate.translated import translated

    return translated(read, language)


def _quality_page(release: Path, _: Certificate, language: str) -> str:
    from kagemusha.quality.statement import quality_page

    with progress_bar() as progress:
        return quality_page(release if release.is_dir() else release.parent, language, progress=progress)


def _page(path: Path, release: Path, text: str) -> Check:
    """Write the page where none is, or compare the one that is there."""
    from kagemusha.certificate.inventory import CERTIFICATE
    from kagemusha.files import read_regular, write_whole

    content = text.encode()
    if path.exists():
        same = read_regular(path, follow=True) == content
        return Check(path.name, same, "says what the release says" if same else "is not the page of this release")
    if (path.parent / CERTIFICATE).exists():
        raise UsageError(f"{path}: choose a place outside the release folder, which holds its own files alone")
    write_whole(path, content)
    return Check(path.name, True, "was made from what was verified")


def _mark(check: Check) -> str:
    if not check.passed:
        return "[red]FAILED[/]"
    return "[yellow]note[/]  " if check.caution else "[green]ok[/]    "


def _ledger_check(ledger: str, release: str, digest: str) -> Check:
    from kagemusha.errors import LedgerError
    from kagemusha.ledger import ledger_exists, open_ledger

    if not ledger_exists(ledger):
        raise LedgerError(f"ledger {ledger}: no such file")
    known = {record.id: record.certificate for record in open_ledger(ledger, read_only=True).releases()}
    if release not in known:
        return Check("ledger", False, "does not know this release")
    same = digest in (known[release] or "").split()
    return Check("ledger", same, "knows this certificate" if same else "knows another certificate for this release")
