"""The certificate as one page for a reader who is not an expert."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

from kagemusha.privacy.certificate import Certificate
from kagemusha.privacy.consequence import consequences, in_words

_ACCOUNTANTS = {
    "zcdp": "zCDP (sum of ρ, converted once)",
    "rdp": "Rényi DP",
    "gdp": "Gaussian DP",
    "pure": "pure DP (sum of ε)",
    "pld": "numerical composition (PLD)",
}


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = files("kagemusha.privacy").joinpath("templates/certificate.html").read_text(encoding="utf-8")
    return environment.from_string(text)


def show(epsilon: float) -> str:
    """ε as people read it."""
    return f"{epsilon:.4g}" if math.isfinite(epsilon) else "∞"


def render(certificate: Certificate) -> str:
    """One self-contained HTML page; the same certificate always gives the same bytes."""
    private = not certificate.broken_because
    aside = min(certificate.promised.delta, float(sum(event.delta for event in certificate.events)))
    totals = [
        {
            "name": _ACCOUNTANTS[name],
            "epsilon": show(value),
            "guarantee": private and name == certificate.accounting.value,
        }
        for name, value in certificate.totals.items()
    ]
    page: str = _template().render(
        certificate=certificate,
        private=private,
        epsilon=show(certificate.epsilon),
        promised=show(certificate.promised.epsilon),
        sentence=in_words(certificate.promised, certificate.accounting, aside=aside) if private else "",
        consequences=consequences(certificate.promised, certificate.accounting, aside=aside) if private else [],
        totals=totals,
        kinds=Counter(event.kind for event in certificate.events),
        events=[{"number": i, "event": e, "noise": _noise(e)} for i, e in enumerate(certificate.events, 1)],
        digest=certificate.digest(),
    )
    return page


def _noise(event: Any) -> str:
    if event.kind in ("gaussian", "threshold"):
        return f"Gaussian, σ = {event.sigma:.4g}"
    if event.kind == "laplace":
        return f"Laplace, scale {event.scale:.4g}"
    if event.kind == "exponential":
        return f"random choice, ε = {event.epsilon:.4g}"
    return "none"
