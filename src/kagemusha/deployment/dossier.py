"""One page for whoever must decide on a release, in the order of NIST SP 800-226's evaluation pyramid.

What the released files say is filled in; what only the custodian can say is asked, and marked where nobody answered.
Nothing here reads the table.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import QUALITY
from kagemusha.certificate.page import PROOFS, consequences, in_words, show
from kagemusha.deployment.answers import QUESTIONS
from kagemusha.errors import VerifyError
from kagemusha.files import StrangeFileError, read_regular
from kagemusha.forensics.verify import Verdict
from kagemusha.pages import template
from kagemusha.privacy.accountants import ACCOUNTANTS

APART = 1.96
"""Deviations of noise from which on a count is more than chance, at the usual 5 %."""

WORST = 8
"""Columns and pairs listed as those to be careful with."""


@dataclass(frozen=True)
class Hidden:
    """A column's counts, and from how many people on one of them differs from none."""

    columns: tuple[str, ...]
    people: int


def hidden_below(certificate: Certificate) -> list[Hidden]:
    """For every column that was counted: the size below which a cell cannot be distinguished from an empty one."""
    least: dict[tuple[str, ...], float] = {}
    for event in certificate.events:
        query = event.query
        if query is None or query.kind != "counts" or not math.isfinite(event.deviation):
            continue
        names = dict(query.facts)["columns"]
        if isinstance(names, tuple) and names:
            key = tuple(map(str, names))
            least[key] = min(least.get(key, math.inf), event.deviation)
    return [Hidden(columns, math.ceil(APART * sigma)) for columns, sigma in sorted(least.items())]


def quality_of(folder: Path) -> dict[str, Any] | None:
    """The quality statement beside a certificate; None where there is none."""
    path = folder / QUALITY[0]
    if not path.exists():
        return None
    try:
        read = json.loads(read_regular(path))
    except (StrangeFileError, ValueError) as error:
        raise VerifyError(f"{path}: cannot be read ({type(error).__name__})") from None
    return read if isinstance(read, dict) else None


def weakest(quality: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The columns and pairs whose released error bounds are widest."""
    both = [*quality["columns"], *quality["pairs"]]
    return sorted(both, key=lambda one: -float(one["high"]))[:WORST]


def dossier(
    verdict: Verdict, answers: Mapping[str, str], *, quality: Mapping[str, Any] | None, spent: str | None = None
) -> str:
    """The page. `spent` says in words what the ledger holds of all releases together."""
    certificate = verdict.certificate
    private = not certificate.broken_because
    kinds = sorted({event.query.kind for event in certificate.events if event.query is not None})
    page: str = template("deployment", "dossier.html").render(
        certificate=certificate,
        verdict=verdict,
        private=private,
        promised=certificate.promised,
        sentence=in_words(certificate.promised, certificate.accounting) if private else "",
        rates=consequences(certificate.promised, certificate.accounting) if private else [],
        show=show,
        accountant=ACCOUNTANTS[certificate.accounting].words,
        kinds=kinds,
        proofs=PROOFS,
        hidden=hidden_below(certificate),
        quality=quality,
        weakest=[] if quality is None else weakest(quality),
        spent=spent,
        asked=[(question, answers.get(question.field)) for question in QUESTIONS],
        open=sum(question.field not in answers for question in QUESTIONS if question.field not in _BESIDE),
    )
    return page


_BESIDE = {"sector", "address"}
"""What a dossier can do without."""
