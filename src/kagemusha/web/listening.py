"""A page on this computer: loopback alone, and the names it answers to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kagemusha.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Listening:
    """A socket that listens, and where."""

    socket: socket.socket
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names, with port, that the page answers to: others are a stranger's page rebound to us."""
        return tuple(f"{name}:{self.port}" for name in LOOPBACK)

    def link(self, token: str) -> str:
        """What opens the page in a browser."""
        return f"http://{LOOPBACK[0]}:{self.port}/enter?token={token}"


@contextmanager
def listening(port: int) -> Iterator[Listening]:
    """Listen on a port of this computer, 0 for a free one; whoever opens the link before the page is ready waits."""
    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be at least 0 and at most 65535, got {port}")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((LOOPBACK[0], port))
            opened.listen()
        except OSError:
            raise UsageError(f"--port {port} is in use; choose another, or 0 for a free one") from None
        yield Listening(opened, opened.getsockname()[1])
