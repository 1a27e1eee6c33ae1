"""Who may talk to a page of ours: a token once, then a cookie; a second secret for whatever changes something.

Nothing is kept on the server: cookie and CSRF secret are MACs under a secret of the project, so people stay signed in
when it is restarted. There is no registration and no password.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

TRIES, WINDOW = 10, 60.0
"""Wrong tokens of one client that are answered as such within so many seconds; after that it must wait."""
MOST_CLIENTS = 1_000
"""Clients whose wrong tokens are remembered."""


def token_of(folder: Path, name: str = "token") -> str:
    """The project's token, made on first use; readable by its owner alone."""
    path = folder / name
    if not path.exists():
        new_token(folder, name)
    return path.read_text().strip()


def new_token(folder: Path, name: str = "token") -> str:
    """Another token in place of the one that was there; readable by its owner alone."""
    path, token = folder / name, secrets.token_urlsafe(24)
    path.unlink(missing_ok=True)
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w") as file:
        file.write(token)
    return token


def cookie_name(hosts: Sequence[str]) -> str:
    """What the cookie of a server is called: browsers keep one jar for all ports of this computer."""
    return f"kagemusha-{hosts[0].rpartition(':')[2]}"


class Access:
    """Checks tokens, cookies and CSRF secrets in constant time.

    With a `link` that token admits, once, and the project's own one only makes the secrets; without one it does both.
    """

    def __init__(self, token: str, *, cookie: str = "kagemusha", link: str | None = None) -> None:
        self._token, self._link, self._once = token, token if link is None else link, link is not None
        self.cookie_name = cookie
        self._lock = Lock()
        self._wrong: dict[str, deque[float]] = {}

    def admits(self, token: str, client: str = "") -> bool | None:
        """Whether the token is right; None where this client sent too many wrong ones lately.

        The right one always is: nobody can lock others out, and no one guesses 192 random bits.
        """
        if self._link and _same(token, self._link):
            with self._lock:
                if self._once and not self._link:
                    return False
                self._link = "" if self._once else self._link
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

    def nonce(self, session: str, what: str) -> str:
        """A second secret for one act alone: it is good for this session and exactly what was shown."""
        return self._mac("nonce", f"{session}:{what}")

    def agreed(self, session: str, what: str, nonce: str | None) -> bool:
        """Whether a page of this session showed exactly this act."""
        return _same(nonce or "", self.nonce(session, what))

    def _mac(self, what: str, text: str) -> str:
        return hmac.new(self._token.encode(), f"{what}:{text}".encode(), hashlib.sha256).hexdigest()


def _same(given: str, right: str) -> bool:
    """In constant time, whatever characters a stranger sends."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())
