"""What some methods need beyond the base package."""

from __future__ import annotations

from importlib.util import find_spec

from kagemusha.errors import UsageError


def require_torch(method: str) -> None:
    """Refuse, with the command that helps, where torch is not installed."""
    if find_spec("torch") is None:
        raise UsageError(f"method {method!r} needs the extra 'neural': pip install 'kagemusha[neural]'")
