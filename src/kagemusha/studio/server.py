"""The server of a studio: which route leads where. Whoever has no cookie of ours sees nothing but the way in."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kagemusha.errors import KagemushaError
from kagemusha.studio.calls import MOST_TEXT, Call
from kagemusha.studio.pages_of import Pages
from kagemusha.studio.release_calls import ReleaseCalls
from kagemusha.studio.site import Site
from kagemusha.studio.table_calls import TableCalls
from kagemusha.web.calls import Handler, Refused, entered, inside, nothing, session_of
from kagemusha.web.guard import Guard
from kagemusha.web.language import choose_language

STATIC = Path(__file__).parent / "static"
KINDS = {"studio.js": "text/javascript", "studio.css": "text/css"}


class Awake:
    """Notes when somebody last asked for anything."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self.last


class _Noting:
    """The app, and a note of each request."""

    def __init__(self, app: ASGIApp, awake: Awake) -> None:
        self._app, self._awake = app, awake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note it, and pass it on."""
        self._awake.last = time.monotonic()
        await self._app(scope, receive, send)


def create_app(
    site: Site, *, hosts: tuple[str, ...], awake: Awake | None = None, stop: Callable[[], None] = lambda: None
) -> Starlette:
    """The app of a studio; `hosts` are the names (with port) it answers to, `stop` ends the server."""
    pages, tables, releases = Pages(site), TableCalls(site), ReleaseCalls(site)

    def stopped(call: Call) -> dict[str, Any]:
        stop()
        return {"said": call.say("The studio is stopped. What was begun is taken up when it is started again.")}

    calls: dict[str, Callable[[Call], dict[str, Any]]] = {**tables.calls, **releases.calls, "stop": stopped}
    routes = [
        Route("/enter", _enter(site)),
        Route("/language/{to}", choose_language),
        Route("/static/{name}", static),
        Route("/favicon.ico", nothing),
        *(Route(path, shown(site, page)) for path, page in pages.routes.items()),
        *(Route(f"/api/{name}", called(site, handle), methods=["POST"]) for name, handle in calls.items()),
    ]
    app = Starlette(routes=routes, exception_handlers={Exception: mistake})
    app.add_middleware(Guard, hosts=hosts)
    if awake is not None:
        app.add_middleware(_Noting, awake=awake)
    return app


async def static(request: Request) -> Response:
    """Script and style, by name; nothing else."""
    name = request.path_params["name"]
    if name not in KINDS:
        return PlainTextResponse("not found", 404)
    return Response((STATIC / name).read_bytes(), media_type=KINDS[name])


async def mistake(request: Request, error: Exception) -> Response:
    """A mistake of ours: what kind it was, and none of the values that it may quote."""
    text = f"this is a mistake of the program ({type(error).__name__}); please report it"
    return JSONResponse({"error": text}, 500) if request.method == "POST" else PlainTextResponse(text, 500)


def shown(site: Site, page: Callable[[Request, str], Response]) -> Handler:
    """A page for somebody who is signed in; mistakes are a page, too, with one sentence."""

    async def answer(request: Request) -> Response:
        session = session_of(request, site.access)
        if session is None:
            return site.page(request, "way_in", 403)
        try:
            return await run_in_threadpool(page, request, session)
        except KagemushaError as error:
            return site.page(request, "wrong", 404, why=site.language(request).heard(str(error)))

    return answer


def called(site: Site, handle: Callable[[Call], dict[str, Any]]) -> Handler:
    """A call of our own pages."""

    def answered(session: str, body: dict[str, Any]) -> dict[str, Any]:
        call = Call(session, body)
        try:
            return handle(call)
        except Refused as error:
            raise Refused(error.status, call.say.heard(str(error))) from None
        except KagemushaError as error:
            raise Refused(400, call.say.heard(str(error))) from None

    return inside(site.access, answered, most=4 * MOST_TEXT)


def _enter(site: Site) -> Handler:
    async def enter(request: Request) -> Response:
        if session_of(request, site.access) is not None:
            return RedirectResponse("/", 303)  # the link again, in the browser that used it
        return await entered(request, site.access, "kagemusha studio")

    return enter
