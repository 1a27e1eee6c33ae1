"""The certificate as one page for a reader who is not an expert."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.consequence import GROUPS, consequences, group_promise, in_words
from kagemusha.pages import template
from kagemusha.privacy.accountants import ACCOUNTANTS, RDP

_TEMPLATE = "certificate.html"
_NOISE_WORDS = {
    "exact integers; in training, integers rounded from doubles": "exact integer noise; in training, Gaussian noise of the precision of doubles, rounded to integers",
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
    parts = [folder.joinpath(name).read_bytes() for name in (f"templates/{_TEMPLATE}", "page.py", "consequence.py")]
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
    private = not certificate.broken_because
    aside = min(certificate.promised.delta, float(sum(event.delta for event in certificate.events)))
    totals = [
        {
            "name": _WORDS[name],
            "epsilon": show(value),
            "guarantee": private and name == ACCOUNTANTS[certificate.accounting].name,
        }
        for name, value in certificate.totals.items()
    ]
    page: str = template("certificate", _TEMPLATE).render(
        certificate=certificate,
        private=private,
        epsilon=show(certificate.epsilon),
        promised=show(certificate.promised.epsilon),
        sentence=in_words(certificate.promised, certificate.accounting, aside=aside) if private else "",
        consequences=consequences(certificate.promised, certificate.accounting, aside=aside) if private else [],
        groups=[group_promise(certificate.promised, certificate.accounting, k, aside=aside) for k in GROUPS]
        if private
        else [],
        show=show,
        totals=totals,
        noise_word=_NOISE_WORDS[certificate.noise],
        kinds=Counter(event.kind for event in certificate.events),
        events=[{"number": i, "event": e, "noise": e.noise_in_words} for i, e in enumerate(certificate.events, 1)],
        digest=certificate.digest() if digest is None else digest,
    )
    return page
