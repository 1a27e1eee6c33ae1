"""The `kagemusha` command."""

from __future__ import annotations

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
    from kagemusha.errors import KagemushaError

    signal.signal(signal.SIGINT, _stop)
    try:
        app()
    except KagemushaError as error:
        fail(str(error), error.exit_code)
    except _Stopped:
        fail("stopped. What was paid for is in the ledger: the same command goes on without paying again", 130)
    except BrokenPipeError:
        sys.exit(0)
