"""Who may talk to the server: a token once, then a cookie; a second secret for whatever changes something.

Nothing is kept on the server: cookie and CSRF secret are MACs under the token, so people stay signed in when it is
restarted. There is no registration and no password.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections import deque
from pathlib import Path

from kagemusha.errors import UsageError

COOKIE = "kagemusha"
MOST_NAME = 60
TRIES, WINDOW = 10, 60.0
"""Wrong tokens of one client that are answered as such within so many seconds; after that it must wait."""
MOST_CLIENTS = 1_000
"""Clients whose wrong tokens are remembered."""


def token_of(folder: Path) -> str:
    """The project's token, made on first use; readable by its owner alone."""
    path = folder / "token"
    if not path.exists():
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w") as file:
            file.write(secrets.token_urlsafe(24))
    return path.read_text().strip()


class Access:
    """Checks tokens, cookies and CSRF secrets in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._wrong: dict[str, deque[float]] = {}

    @property
    def name(self) -> str:
        """The cookie's name: one per project, so that two in one browser do not sign each other out."""
        return f"{COOKIE}-{self._mac('name', '')[:12]}"

    def admits(self, token: str, client: str = "") -> bool | None:
        """Whether the token is right; None where this client sent too many wrong ones lately.

        The right one always is: nobody can lock others out, and no one guesses 192 random bits.
        """
        if _same(token, self._token):
            return True
        now = time.monotonic()
        wrong = self._wrong.pop(client, deque(maxlen=TRIES))
        self._wrong[client] = wrong  # the newest last
        if len(self._wrong) > MOST_CLIENTS:
            del self._wrong[next(iter(self._wrong))]
        if len(wrong) == TRIES and wrong[0] >= now - WINDOW:
            return None
        wrong.append(now)
        return False

    def cookie(self, before: str | None = None) -> str:
        """A new session; who has one already keeps it, and with it the names used in it."""
        session = self.session(before) or secrets.token_urlsafe(16)
        return f"{session}.{self._mac('session', session)}"

    def session(self, cookie: str | None) -> str | None:
        """The session behind a cookie, if we made it."""
        session, _, mac = (cookie or "").partition(".")
        return session if session and _same(mac, self._mac("session", session)) else None

    def csrf(self, session: str) -> str:
        """What a page of this session must send with whatever changes something."""
        return self._mac("csrf", session)

    def sent_by_our_page(self, session: str, secret: str | None) -> bool:
        """Whether a request comes from a page of this session."""
        return _same(secret or "", self.csrf(session))

    def _mac(self, what: str, text: str) -> str:
        return hmac.new(self._token.encode(), f"{what}:{text}".encode(), hashlib.sha256).hexdigest()


def _same(given: str, right: str) -> bool:
    """In constant time, whatever characters a stranger sends."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


def checked_name(name: object) -> str:
    """An annotator's name as it may be kept: a short text in one line."""
    text = " ".join(str(name).split()) if isinstance(name, str) else ""
    if not text or len(text) > MOST_NAME or not text.isprintable():
        raise UsageError(f"a name must have 1 to {MOST_NAME} printable characters")
    return text
