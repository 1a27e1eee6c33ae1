"""Re-check a certificate offline: recompute every number and hash, and name whatever does not match."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.errors import PrivacyError, VerifyError
from kagemusha.privacy.certificate import Certificate, canonical
from kagemusha.privacy.certificate_page import render
from kagemusha.privacy.filter import Cost, cost_of, limit_of

PAGE_NAME = "certificate.html"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    passed: bool
    detail: str


def sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def verify(certificate_path: Path) -> list[Check]:
    """Every check on a certificate and on the files released beside it."""
    try:
        raw = certificate_path.read_bytes()
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VerifyError(f"{certificate_path}: cannot be read as a certificate ({type(error).__name__})") from None
    try:
        certificate = Certificate.from_json(text)
    except VerifyError as error:
        raise VerifyError(f"{certificate_path}: {error}") from None
    given = json.loads(text)
    edited = _digest_check(certificate_path, text, given)
    if not edited.passed:
        return [edited]  # nothing an edited certificate says is worth checking further
    computed = json.loads(certificate.to_json())
    checks = [edited, *_totals_checks(given, computed), _guarantee_check(given, computed), _filter_check(certificate)]
    checks += [_file_check(certificate_path.parent, n, d) for n, d in (certificate.outputs or {}).items()]
    page = certificate_path.parent / PAGE_NAME
    if page.exists():
        same = page.read_text(encoding="utf-8") == render(certificate)
        checks.append(Check(PAGE_NAME, same, "says what the certificate says" if same else "was changed"))
    return checks


def all_passed(checks: Sequence[Check]) -> bool:
    """Whether nothing is wrong."""
    return all(check.passed for check in checks)


def _digest_check(path: Path, text: str, given: dict[str, Any]) -> Check:
    body = {key: value for key, value in given.items() if key != "digest"}
    if given.get("digest") != hashlib.sha256(canonical(body).encode()).hexdigest():
        return Check(path.name, False, "its content does not match its digest: it was edited")
    if canonical(given) != text:
        return Check(path.name, False, "it is not in the canonical form: it was edited")
    return Check(path.name, True, "content matches its digest")


def _totals_checks(given: dict[str, Any], computed: dict[str, Any]) -> list[Check]:
    stated_totals = given.get("totals", {})
    checks = []
    for name, value in computed["totals"].items():
        if name == "at delta":
            continue
        stated = stated_totals.get(name)
        # another version of a numerical library may move the last digits, nothing more
        same = stated == value or (
            isinstance(stated, float | int) and isinstance(value, float) and math.isclose(stated, value, rel_tol=1e-6)
        )
        checks.append(Check(f"total under {name}", same, f"stated {_short(stated)}, recomputed {_short(value)}"))
    return checks


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _guarantee_check(given: dict[str, Any], computed: dict[str, Any]) -> Check:
    same = given.get("guarantee") == computed["guarantee"]
    return Check("guarantee", same, "follows from the events" if same else "does not follow from the events")


def _filter_check(certificate: Certificate) -> Check:
    """The events, priced again, must stay within the promise."""
    what = "events within the promised budget"
    if not certificate.promised.is_finite:
        return Check(what, True, "no finite budget was promised")
    try:
        spent = sum((cost_of(event, certificate.accounting) for event in certificate.events), Cost(0))
    except PrivacyError as error:
        return Check(what, False, str(error))
    share = float(certificate.parameters.get("delta_share", 0.0))
    limit = limit_of(certificate.promised, certificate.accounting, delta_share=share)
    fits = spent.units <= limit.units and spent.delta_units <= limit.delta_units
    return Check(what, fits, f"{spent.units / 1e15:.6g} of {limit.units / 1e15:.6g} ({certificate.accounting})")


def _file_check(folder: Path, name: str, digest: str) -> Check:
    path = folder / name
    if Path(name).name != name:
        return Check(name, False, "a certificate may only name files beside it")
    if not path.exists():
        return Check(name, False, "the file is missing")
    same = sha256(path) == digest
    return Check(name, same, "matches its hash" if same else "its bytes differ from what was certified")
