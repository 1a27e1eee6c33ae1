"""The `kagemusha` command."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn


class _Stopped(BaseException):
    """Ctrl-C; not an Exception, so that nothing on the way up mistakes it for a failure."""


def _stop(*_: Any) -> NoReturn:
    raise _Stopped


def main() -> None:
    """Run the command line; mistakes of the user end with one line and an exit code, never with a traceback."""
    from kagemusha.cli.app import app
    from kagemusha.cli.output import fail
    from kagemusha.errors import KagemushaError, OutputError

    signal.signal(signal.SIGINT, _stop)
    for stream in (sys.stdout, sys.stderr):
        # a screen that cannot show ε shows a question mark
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except KagemushaError as error:
        fail(str(error), error.exit_code)
    except _Stopped:
        fail("stopped. What was paid for is in the ledger: the same command goes on without paying again", 130)
    except BrokenPipeError:
        _close_output()
        sys.exit(0)
    except OSError as error:
        _close_output()
        fail(f"{error.filename or 'the output'}: {error.strerror or type(error).__name__}", OutputError.exit_code)


def _close_output() -> None:
    """Let Python leave without trying once more to write what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
