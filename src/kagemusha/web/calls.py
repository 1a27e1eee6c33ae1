"""Calls of our own pages: cookie and CSRF secret first, then a small JSON body; mistakes are one line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from kagemusha.errors import KagemushaError
from kagemusha.files import parse_json
from kagemusha.web.access import Access

MOST_BODY = 4096
"""Bytes of a body, where a page needs no more."""

COOKIE_AGE = 30 * 86400
"""Seconds for which somebody stays signed in."""

Handler = Callable[[Request], Awaitable[Response]]
Body = dict[str, Any]


class Refused(KagemushaError):
    """A call that is refused with a status of its own."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def entered(request: Request, access: Access, command: str) -> Response:
    """The link with the token: a cookie, and on to the page."""
    client = "" if request.client is None else request.client.host
    before = request.cookies.get(access.cookie_name)
    admitted = access.admits(request.query_params.get("token", ""), client)
    if admitted is None:
        return PlainTextResponse("too many wrong tokens; wait a minute", 429)
    if not admitted:
        return PlainTextResponse(f"this link is not right: use the one that `{command}` printed", 403)
    response = RedirectResponse("/", 303)
    response.set_cookie(access.cookie_name, access.cookie(before), httponly=True, samesite="strict", max_age=COOKIE_AGE)
    return response


def session_of(request: Request, access: Access) -> str | None:
    """The session a request belongs to, if it is one of ours."""
    return access.session(request.cookies.get(access.cookie_name))


def inside(access: Access, handle: Callable[[str, Body], Any], *, most: int = MOST_BODY) -> Handler:
    """A route for our own pages alone; `handle` gets the session and the body, in a thread, and its answer is JSON."""

    async def answer(request: Request) -> Response:
        session = session_of(request, access)
        if session is None or not access.sent_by_our_page(session, request.headers.get("x-csrf")):
            return JSONResponse({"error": "not signed in; open the link again"}, 403)
        sent = b""
        try:
            async for part in request.stream():  # whatever length it announces
                sent += part
                if len(sent) > most:
                    return JSONResponse({"error": "too long"}, 413)
            try:
                body = parse_json(sent)
            except ValueError:
                return JSONResponse({"error": "not JSON"}, 400)
            if not isinstance(body, dict):
                return JSONResponse({"error": "a JSON object is needed"}, 400)
            return JSONResponse(await run_in_threadpool(handle, session, body))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Refused as error:
            return JSONResponse({"error": str(error)}, error.status)
        except KagemushaError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer


async def nothing(_: Request) -> Response:
    """There is no icon; browsers ask all the same."""
    return Response(status_code=204)
