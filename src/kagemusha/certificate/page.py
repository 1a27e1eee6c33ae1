"""The certificate as one page for a reader who is not an expert, with what its ε means for an attacker."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from kagemusha.certificate.acceptance import answers
from kagemusha.certificate.certificate import Certificate
from kagemusha.pages import template
from kagemusha.privacy.accountants import ACCOUNTANTS, RDP, Accounting
from kagemusha.privacy.accountants.protocol import hockey_stick
from kagemusha.privacy.budget import Budget

GROUPS = (2, 5, 10)
PROOFS = "docs/proofs/queries.md"
"""Where each kind of question has a section of its name: statement, proof, tests and mutants."""

FALSE_POSITIVE_RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Consequence:
    """At a given false-positive rate, no attacker reaches a higher true-positive rate than this."""

    false_positive_rate: float
    true_positive_rate: float


@lru_cache(maxsize=64)
def best_true_positive_rate(budget: Budget, accounting: Accounting, fpr: float, *, aside: float = 0.0) -> float:
    """The largest true-positive rate any attacker can reach at this false-positive rate.

    The whole privacy curve behind the promise is used, not just the one (ε, δ) point on it; of δ, `aside` was spent
    outside the curve.
    """
    if not budget.is_finite:
        return 1.0
    bound = hockey_stick(fpr, budget.epsilon, budget.delta)
    if not budget.delta:
        return bound
    return min(bound, ACCOUNTANTS[accounting].true_positives(budget, fpr, aside))


def consequences(budget: Budget, accounting: Accounting = Accounting.ZCDP, *, aside: float = 0.0) -> list[Consequence]:
    """The bound at a few false-positive rates a reader knows."""
    return [Consequence(f, best_true_positive_rate(budget, accounting, f, aside=aside)) for f in FALSE_POSITIVE_RATES]


@dataclass(frozen=True)
class GroupPromise:
    """What is left of a promise for someone with several rows; ε is infinite where nothing is."""

    rows: int
    epsilon: float
    delta: float


def group_promise(budget: Budget, accounting: Accounting, rows: int, *, aside: float = 0.0) -> GroupPromise:
    """The promise for a person with `rows` rows.

    Where the accountant knows a whole curve, that moves. A declared schedule, and what thresholds put `aside` of δ,
    have no such curve: there (k·ε, δ·Σ e^{iε}) holds, as for any promise.
    """
    epsilon, delta = budget.epsilon, budget.delta
    if not budget.is_finite:
        return GroupPromise(rows, rows * epsilon, delta)
    found = None if aside else ACCOUNTANTS[accounting].group(budget, rows)
    if found is not None:
        return GroupPromise(rows, found, delta)
    delta *= sum(math.exp(min(700.0, i * epsilon)) for i in range(rows))
    return GroupPromise(rows, rows * epsilon if delta < 1 else math.inf, min(1.0, delta))


def in_words(budget: Budget, accounting: Accounting = Accounting.ZCDP, *, aside: float = 0.0) -> str:
    """One sentence for a reader who is not an expert."""
    if not budget.is_finite:
        return "There is no limit on what an attacker could learn about one person."
    rate = best_true_positive_rate(budget, accounting, 0.05, aside=aside)
    return (
        "Even an attacker who knows everyone else's record, and who accepts being wrong about 5 of 100 people who are "
        f"not in the table, can recognise at most {100 * rate:.1f} of 100 people who are (guessing alone gives 5)."
    )


_TEMPLATE = "certificate.html"
_NOISE_WORDS = {
    "exact integers; in training, integers rounded from doubles": "exact integer noise; in training, Gaussian noise "
    "of the precision of doubles, rounded to integers",
    "simulated": "simulated, from a seed",
    "exact integers": "exact integers, from the operating system’s secure generator",
    "none": "none",
}
_WORDS = {accountant.name: accountant.words for accountant in (*ACCOUNTANTS.values(), RDP())}


def show(epsilon: float) -> str:
    """ε as people read it."""
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "∞"


@cache
def _maker() -> str:
    """SHA-256 of all that decides what a page says about a certificate."""
    folder = files("kagemusha.certificate")
    parts = [folder.joinpath(name).read_bytes() for name in (f"templates/{_TEMPLATE}", "page.py")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def record(certificate: Certificate) -> dict[str, str]:
    """What a certificate keeps of its page: the hash of its bytes without the certificate's digest, and its maker."""
    return {"sha256": fingerprint(render(certificate, digest="").encode()), "made by": _maker()}


def fingerprint(page: bytes, digest: str = "") -> str:
    """SHA-256 of a page; the digest of the certificate is left out, because it covers this very hash."""
    return hashlib.sha256(page.replace(digest.encode(), b"") if digest else page).hexdigest()


def made_here(page: Mapping[str, str]) -> bool:
    """Whether this program would make the recorded page again, byte for byte."""
    return page.get("made by") == _maker()


def render(certificate: Certificate, *, digest: str | None = None) -> str:
    """One self-contained HTML page; the same certificate always gives the same bytes.

    `digest` is the certificate's own, if it is known already.
    """
    page: str = template("certificate", _TEMPLATE).render(facts_of(certificate, digest=digest))
    return page


def aside_of(certificate: Certificate) -> float:
    """The part of δ that was spent outside the curve of the accountant."""
    return min(certificate.promised.delta, float(sum(event.delta for event in certificate.events)))


def facts_of(certificate: Certificate, *, digest: str | None = None) -> dict[str, Any]:
    """What a page shows, whatever its language."""
    private = not certificate.broken_because
    aside = aside_of(certificate)
    totals = [
        {
            "name": _WORDS[name],
            "epsilon": show(value),
            "guarantee": private and name == ACCOUNTANTS[certificate.accounting].name,
        }
        for name, value in certificate.totals.items()
    ]
    return {
        "certificate": certificate,
        "private": private,
        "epsilon": show(certificate.epsilon),
        "promised": show(certificate.promised.epsilon),
        "sentence": in_words(certificate.promised, certificate.accounting, aside=aside) if private else "",
        "consequences": consequences(certificate.promised, certificate.accounting, aside=aside) if private else [],
        "groups": [group_promise(certificate.promised, certificate.accounting, k, aside=aside) for k in GROUPS]
        if private
        else [],
        "show": show,
        "totals": totals,
        "noise_word": _NOISE_WORDS[certificate.noise],
        "kinds": Counter(event.kind for event in certificate.events),
        "asked": sorted({event.query.kind for event in certificate.events if event.query is not None}),
        "proofs": PROOFS,
        "acceptance": answers(certificate) if "acceptance" in certificate.parameters else [],
        "events": [{"number": i, "event": e, "noise": e.noise_in_words} for i, e in enumerate(certificate.events, 1)],
        "digest": certificate.digest() if digest is None else digest,
    }
