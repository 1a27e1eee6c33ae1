"""A studio is started: one per folder, on this computer alone, with a link that is good once; it stops when idle."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn

from kagemusha.errors import UsageError
from kagemusha.files import alone, write_whole
from kagemusha.studio.jobs import Jobs
from kagemusha.studio.place import Place
from kagemusha.studio.server import Awake, create_app
from kagemusha.studio.site import Site
from kagemusha.web.access import Access, cookie_name, new_token, token_of
from kagemusha.web.listening import LOOPBACK, Listening, listening

LOOK = 1.0
"""Seconds between two looks at whether anybody is there."""


def require_loopback(host: str) -> None:
    """Refuse every address that others could reach."""
    if host not in LOOPBACK:
        raise UsageError(
            f"--host {host}: the studio shows what is INTERNAL, so it listens on this computer alone. From "
            "another one, tunnel: ssh -L 8899:127.0.0.1:8899 USER@HERE, with --port 8899"
        )


def run(folder: Path, *, host: str, port: int, idle: float, opened: Callable[[str], None]) -> None:
    """Serve until somebody stops it, or nobody asked for anything for `idle` minutes and no job is at work."""
    require_loopback(host)
    if not 0 < idle <= 10_000:
        raise UsageError(f"--idle must be more than 0 and at most 10,000 minutes, got {idle:g}")
    place = Place(folder)
    with (
        alone(place.hidden / "lock", f"{folder}: a studio is open for this folder already"),
        _listening(place, port) as here,
    ):
        link = new_token(place.hidden, "link")
        access = Access(token_of(place.hidden, "secret"), cookie=cookie_name(here.hosts), link=link)
        jobs, awake = Jobs(place.hidden / "jobs"), Awake()

        def stop() -> None:
            server.should_exit = True

        site = Site(place, access, jobs)
        app = create_app(site, hosts=here.hosts, awake=awake, stop=stop)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off"))

        def watch() -> None:
            while not server.should_exit:
                threading.Event().wait(LOOK)
                if awake.idle > 60 * idle and not jobs.busy and not site.labellings.busy:
                    stop()

        opened(here.link(link))
        jobs.start()
        threading.Thread(target=watch, daemon=True).start()
        try:
            server.run(sockets=[here.socket])
        finally:
            jobs.stop()
            site.labellings.stop()
            (place.hidden / "link").unlink(missing_ok=True)


def _listening(place: Place, port: int) -> _Kept:
    return _Kept(place.hidden / "port", port)


class _Kept:
    """A port: the one that is wanted, or the one of last time if it is free, so that browsers stay signed in."""

    def __init__(self, path: Path, port: int) -> None:
        self._path, self._port = path, port

    def __enter__(self) -> Listening:
        last = json.loads(self._path.read_text()) if self._path.exists() else 0
        self._open = listening(self._port or last)
        try:
            here = self._open.__enter__()
        except UsageError:
            if self._port:
                raise
            self._open = listening(0)
            here = self._open.__enter__()
        write_whole(self._path, json.dumps(here.port).encode())
        return here

    def __exit__(self, *raised: object) -> None:
        self._open.__exit__(None, None, None)
