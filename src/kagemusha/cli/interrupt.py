"""Ctrl-C, remembered: a library that runs Python code of ours may swallow the exception it raises."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class Stopped(BaseException):
    """Ctrl-C; not an Exception, so that nothing on the way up mistakes it for a failure."""


class CtrlC:
    """The handler of Ctrl-C: raises at once, and again at the next report of progress if that was lost.

    An exception raised within a callback from compiled code, or while something is tidied up, is printed and forgotten.
    """

    def __init__(self, raised: type[BaseException] = Stopped) -> None:
        self.pressed = False
        self.raised = raised

    def __call__(self, number: int, frame: Any) -> NoReturn:
        """Remember it, and raise."""
        self.pressed = True
        raise self.raised

    def install(self) -> CtrlC:
        """Handle Ctrl-C from now on."""
        signal.signal(signal.SIGINT, self)
        return self


def heed() -> None:
    """Raise if Ctrl-C was pressed and nobody heard it."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, CtrlC) and handler.pressed:
        raise handler.raised


@contextmanager
def stopping(leave: Callable[[], NoReturn]) -> Iterator[None]:
    """Work that Ctrl-C ends by `leave`, whatever the libraries below make of it.

    Workers and this command each tidy up by Python's own rule, so KeyboardInterrupt is what they see.
    """
    stop = CtrlC(KeyboardInterrupt).install()
    try:
        yield
    except BaseException:
        if not stop.pressed:
            raise
        leave()
