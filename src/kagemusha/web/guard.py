"""What stands before every route: our own host names alone, and headers that forbid whatever is not ours."""

from __future__ import annotations

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
    "'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_POLICY = b"content-security-policy"

DOCUMENT = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The policy of pages that are one file: certificates, reports. Their styles are inside; nothing in them can run."""


class Guard:
    """Answers to known host names alone, and puts our headers on every response."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app, self._hosts = app, {host.encode("latin-1") for host in hosts}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or send a stranger away."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                fixed = {name for name, _ in own if name == _POLICY}  # a document brings a narrower one of its own
                message = {**message, "headers": [*own, *(one for one in self._headers if one[0] not in fixed)]}
            await send(message)

        given = [value for name, value in scope["headers"] if name == b"host"]
        known = len(given) == 1 and given[0] in self._hosts
        await (self._app if known else _stranger)(scope, receive, guarded)


_stranger = PlainTextResponse("unknown host", 421)
