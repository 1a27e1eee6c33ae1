"""Run the command line: in this process, where imports are paid once; or as a person would, in one of its own."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

COMMAND = [sys.executable, "-c", "from kagemusha.cli import main; main()"]
"""The command line in a process of its own."""


@dataclass(frozen=True)
class Done:
    """How a command ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


def in_this_process(arguments: list[str], encoding: str = "utf-8") -> Done:
    """What `main` does with these arguments; leaves argv and the handling of Ctrl-C as they were."""
    from kagemusha.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    before, handler, code = sys.argv, signal.getsignal(signal.SIGINT), 0
    sys.argv = ["kagemusha", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    finally:
        sys.argv = before
        signal.signal(signal.SIGINT, handler)
    return Done(code, *(_written(stream) for stream in (out, err)))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode(stream.encoding)


def checked(done: Done, code: int | None) -> Done:
    """The same, after a look at its exit code."""
    assert "Traceback" not in done.stderr, done.stderr
    if code is not None:
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
