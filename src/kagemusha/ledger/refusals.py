"""What a ledger says to somebody whom the owner of a data set has not allowed what is asked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kagemusha.errors import CapReached
from kagemusha.ledger.cap import Cap
from kagemusha.ledger.protocol import ReleaseRequest


def looks_forbidden(request: ReleaseRequest, cap: Cap, here: str) -> CapReached:
    """The owner forbids looks; `here` is how a command names the ledger."""
    return CapReached(
        f"data set {cap.dataset!r} (policy {cap.policy!r}): its owner forbids looks without protection, and "
        f"{request.method!r} is one. To allow them: `kagemusha ledger allow-looks "
        f"{shlex.quote(cap.dataset)}{_of(cap.policy)}{here}`. Nothing was read"
    )


def needs_a_word(request: ReleaseRequest, here: str) -> CapReached:
    """Under a cap, a release without protection needs the owner's word."""
    return CapReached(
        f"data set {request.dataset!r} has a cap (policy {request.policy!r}), and {request.method!r} would read it "
        "without protection (ε = ∞: a baseline, a simulation, or a schema that nobody confirmed). Its owner must allow "
        f"that: `kagemusha ledger allow-unprotected {shlex.quote(request.dataset)}{_of(request.policy)}{here}`. "
        "Nothing was read"
    )


def no_such_policy(request: ReleaseRequest, known: Sequence[str], here: str) -> CapReached:
    """A policy that nobody made would go round the cap there is."""
    return CapReached(
        f"data set {request.dataset!r} has no policy {request.policy!r}; it has {', '.join(map(repr, known))}. "
        f"`{Cap(request.dataset, request.policy, request.budget).command()}{here}` makes another. Nothing was spent"
    )


def no_room_for_thresholds(release: str, delta: float, cap: Cap) -> CapReached:
    """Thresholds would take more of δ than the cap has left."""
    return CapReached(
        f"release {release}: its thresholds would take δ = {delta:.3g}, which the cap ({cap.budget.in_words()}) has "
        "not left; nothing was read"
    )


def _of(policy: str) -> str:
    """How a command names a policy."""
    return "" if policy == "default" else f" --policy {shlex.quote(policy)}"
