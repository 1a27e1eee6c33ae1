"""The `kagemusha` command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from io import TextIOWrapper

from kagemusha.cli.interrupt import CtrlC


def main() -> None:
    """Run the command line; mistakes of the user end with one line and an exit code, never with a traceback."""
    stop = CtrlC().install()  # before anything heavy is imported
    try:
        _run(stop)
    except BaseException as error:
        # libraries may turn the stop into an error of their own, or lose it and fail over it later
        if not stop.pressed or isinstance(error, SystemExit):
            raise
    else:
        return
    from kagemusha.cli.output import fail

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fail("stopped. What was paid for is in the ledger: the same command goes on without paying again", 130)


def _run(stop: CtrlC) -> None:
    from kagemusha.cli.app import app
    from kagemusha.cli.output import fail, show_bug
    from kagemusha.errors import KagemushaError, OutputError

    for stream in (sys.stdout, sys.stderr):
        # a screen that cannot show ε shows a question mark
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except KagemushaError as error:
        if stop.pressed:
            raise
        fail(error.at_a_prompt, error.exit_code)
    except BrokenPipeError:
        _close_output()
        sys.exit(0)
    except OSError as error:
        if stop.pressed:
            raise
        _close_output()
        fail(f"{error.filename or 'the output'}: {error.strerror or type(error).__name__}", OutputError.exit_code)
    except Exception:
        if stop.pressed:
            raise
        show_bug()
        sys.exit(1)


def _close_output() -> None:
    """Let Python leave without trying once more to write what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
