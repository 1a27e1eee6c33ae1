"""`verify`: re-check a release without the data, and say who signed it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.check import Check
from kagemusha.cli.key import TrustedOption, trusted_keys
from kagemusha.cli.options import JsonOption
from kagemusha.cli.output import plain, say, say_json
from kagemusha.errors import UsageError


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
    language: Annotated[str, typer.Option(help="Language of --page: en or ja.")] = "en",
    as_json: JsonOption = False,
) -> None:
    """Recompute every number and hash of a release, offline, and say who signed it.

    Exits with 8 if anything does not match, and with 10 if it does but the key that signed is expired or revoked. With
    --key or --trusted a signature by one of these keys is needed; without one it exits with 10, too.
    """
    from kagemusha.certificate.signature import Trust
    from kagemusha.forensics.verify import verify_release

    demanded = key is not None or trusted is not None
    trust = Trust.of(key, trusted_keys(trusted, must_exist=trusted is not None))
    verdict = verify_release(certificate, trust, demanded=demanded)
    read = verdict.certificate
    if ledger is not None:
        verdict = verdict.with_check(_ledger_check(ledger, read.release, verdict.digest))
    if page is not None:
        made = _page(page, read, language, verdict.intact)
        verdict = verdict if made is None else verdict.with_check(made)
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
        say(f"[bold]{plain(verdict.sentence)}[/]")
        for caution in verdict.cautions:
            say(f"[yellow]but[/] {plain(caution)}")
        promise = f"{read.promised.in_words()}: about one {read.of_whom}"
        say(
            f"[bold]{plain(promise)}[/]"
            if not read.broken_because
            else "[red bold]ε = ∞: the certificate itself says there is no guarantee[/]"
        )


def _page(path: Path, certificate: Certificate, language: str, intact: bool) -> Check | None:
    """Write the page where none is, or compare the one that is there; nothing is made of what does not hold."""
    from kagemusha.certificate.inventory import CERTIFICATE
    from kagemusha.certificate.translated import translated
    from kagemusha.files import read_regular, write_whole

    text = translated(certificate, language).encode()
    if not intact:
        return None
    if path.exists():
        same = read_regular(path, follow=True) == text
        return Check(path.name, same, "says what the certificate says" if same else "is not the certificate's page")
    if (path.parent / CERTIFICATE).exists():
        raise UsageError(f"--page {path}: choose a place outside the release folder, which holds its own files alone")
    write_whole(path, text)
    return Check(path.name, True, "was made from the certificate")


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
