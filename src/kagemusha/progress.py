"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of all work done so far, from 0 to 1."""


def silent(what: str, done: float) -> None:
    """A progress listener that says nothing."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """A listener for one part of the work, which lies between these shares of the whole."""
    return lambda what, done: progress(what, start + (end - start) * done)
