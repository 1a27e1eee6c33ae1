"""Who labels: a name as it may be kept."""

from __future__ import annotations

from kagemusha.errors import UsageError

MOST_NAME = 60


def checked_name(name: object) -> str:
    """An annotator's name as it may be kept: a short text in one line."""
    text = " ".join(str(name).split()) if isinstance(name, str) else ""
    if not text or len(text) > MOST_NAME or not text.isprintable():
        raise UsageError(f"a name must have 1 to {MOST_NAME} printable characters")
    return text
