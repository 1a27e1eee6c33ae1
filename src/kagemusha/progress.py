"""How long work tells how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of all work done so far, from 0 to 1."""


def silent(what: str, done: float) -> None:
    """A progress listener that says nothing."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """A listener for one part of the work, which lies between these shares of the whole."""
    return lambda what, done: progress(what, start + (end - start) * done)


SOON = 2.0
"""Seconds of work that need no word."""


@contextmanager
def watched(progress: Progress | None) -> Iterator[Progress]:
    """The listener that was given; without one a line below the cell of a notebook, and elsewhere silence."""
    display = None if progress is not None else _display()
    if progress is not None or display is None:
        yield progress or silent
        return
    line = Line(display)
    try:
        yield line
    finally:
        line.end()


class Line:
    """How far long work is, how long it will still take; it goes away when the work is done."""

    def __init__(self, display: Callable[[dict[str, str], bool], None], clock: Callable[[], float] = time.monotonic):
        self._display, self._clock = display, clock
        self._began = self._last = clock()
        self._shown = False

    def __call__(self, what: str, done: float) -> None:
        """Say it, twice a second at most."""
        now = self._clock()
        spent = now - self._began
        if spent < SOON or now - self._last < 0.5:
            return
        left = f", about {_in_words(spent * (1 - done) / done)} left" if done > 0.02 else ""
        text = f"{what}: {100 * done:.0f} %{left}"
        bar = f"<progress max='1' value='{min(max(done, 0), 1):.3f}'></progress> "
        self._display({"text/plain": text, "text/html": bar + escape(text)}, self._shown)
        self._shown, self._last = True, now

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            self._display({"text/plain": "", "text/html": ""}, True)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _display() -> Callable[[dict[str, str], bool], None] | None:
    """What shows, and later changes, a line below the running cell; None where there is no notebook."""
    shell = sys.modules["IPython"].get_ipython() if {"IPython", "ipykernel"} <= sys.modules.keys() else None
    if shell is None:
        return None
    name = f"kagemusha-{time.monotonic_ns()}"
    publish: Any = shell.display_pub.publish
    return lambda data, again: publish(data, transient={"display_id": name}, update=again)
