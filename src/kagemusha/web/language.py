"""The language of a local page: what somebody chose, or else what their browser asks for."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from kagemusha.web.calls import COOKIE_AGE
from kagemusha.words.catalogue import LANGUAGES, Catalogue, catalogue, preferred

LANGUAGE = "kagemusha-language"
"""The cookie of the language; it says nothing else."""


def language_of(request: Request, *pages: str) -> Catalogue:
    """The catalogue of pages that this reader wants."""
    chosen = request.cookies.get(LANGUAGE) or preferred(request.headers.get("accept-language", ""))
    return catalogue(chosen, *pages)


async def choose_language(request: Request) -> Response:
    """`/language/ja`: keep the choice, and back to where somebody was."""
    to, back = request.path_params["to"], request.query_params.get("back", "/")
    if to not in LANGUAGES:
        return PlainTextResponse("not found", 404)
    safe = back if back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable() else "/"
    response = RedirectResponse(quote(safe, safe="/?&=%@.,:+-_"), 303)
    response.set_cookie(LANGUAGE, to, httponly=True, samesite="strict", max_age=COOKIE_AGE)
    return response
