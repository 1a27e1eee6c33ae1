"""What a certificate says of criteria of acceptance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kagemusha.certificate.certificate import Certificate

FIELDS = ("criterion", "excess", "answer", "found")
"""The demand in words, the released number, the answer that follows from it, and how far the doubles are about."""


def answers(certificate: Certificate) -> list[Mapping[str, Any]]:
    """Each criterion with its answer, as far as the certificate is well formed."""
    stated = certificate.parameters.get("acceptance", [])
    listed = stated if isinstance(stated, list) else []
    return [one for one in listed if isinstance(one, dict) and set(one) == set(FIELDS)]
