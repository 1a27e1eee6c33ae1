"""`verify`: re-check a certificate without the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.verify import Check
from kagemusha.cli.options import JsonOption
from kagemusha.cli.output import plain, say, say_json
from kagemusha.errors import VerifyError


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="certificate.json, or the folder that holds it.", show_default=False)
    ],
    ledger: Annotated[
        Path | None, typer.Option(help="Also compare the release with the custodian's ledger.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute every number and hash of a certificate, offline. Exits with 8 if anything does not match."""
    from kagemusha.certificate.verify import all_passed
    from kagemusha.certificate.verify import verify as run

    path = certificate / "certificate.json" if certificate.is_dir() else certificate
    checks = run(path)
    text = path.read_text(encoding="utf-8")
    read = Certificate.from_json(text)
    if ledger is not None:
        checks.append(_ledger_check(ledger, read.release, json.loads(text)["digest"]))
    if as_json:
        say_json(
            {
                "passed": all_passed(checks),
                "epsilon": read.epsilon,
                "delta": read.promised.delta,
                "checks": [{"what": c.what, "passed": c.passed, "detail": c.detail} for c in checks],
            }
        )
    else:
        for check in checks:
            mark = "[green]ok[/]    " if check.passed else "[red]FAILED[/]"
            say(f"{mark} {plain(check.what)}: {plain(check.detail)}")
    if not all_passed(checks):
        wrong = ", ".join(check.what for check in checks if not check.passed)
        raise VerifyError(f"{path}: does not hold: {wrong}")
    if not as_json:
        promise = f"{read.promised.in_words()}: about one {read.of_whom}"
        say(
            f"[bold]{promise}[/]"
            if not read.broken_because
            else "[red bold]ε = ∞: the certificate itself says there is no guarantee[/]"
        )


def _ledger_check(ledger: Path, release: str, digest: str) -> Check:
    from kagemusha.errors import LedgerError
    from kagemusha.ledger.sqlite import SQLiteLedger

    if not ledger.exists():
        raise LedgerError(f"ledger {ledger}: no such file")
    known = {record.id: record.certificate for record in SQLiteLedger(ledger, read_only=True).releases()}
    if release not in known:
        return Check("ledger", False, "does not know this release")
    same = digest in (known[release] or "").split()
    return Check("ledger", same, "knows this certificate" if same else "knows another certificate for this release")
