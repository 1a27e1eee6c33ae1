"""Addresses of databases, and what may be shown of them: never who logs in, nor with which password."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
_SHOWN = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:]+\])?(?::[0-9]{1,5})?(?:,[\w.-]+(?::[0-9]{1,5})?)*(?:/[\w .%+-]*)?")


def scheme_of(where: object) -> str | None:
    """The scheme of an address such as postgresql://host/name; None for what is none."""
    found = _SCHEME.match(where) if isinstance(where, str) else None
    return found[0].lower() if found else None


def is_postgres(where: object) -> bool:
    """Whether an address is one of a PostgreSQL server."""
    scheme = scheme_of(where)
    return scheme is not None and scheme.partition("+")[0] in ("postgresql", "postgres")


LOGIN = "the server refused the login: user or password is wrong (the driver also looks at PGPASSWORD and ~/.pgpass)"


def refused_login(error: BaseException) -> bool:
    """Whether a PostgreSQL server was reached and did not accept who asked.

    libpq gives no SQLSTATE (28P01, 28000) for what happens while it connects, only words.
    """
    words = ("authentication failed", "no password supplied", "no pg_hba.conf entry")
    return str(getattr(error, "sqlstate", None)) in ("28P01", "28000") or any(word in str(error) for word in words)


def shown(url: str) -> str:
    """An address as messages, ledgers and certificates may show it: server and database alone.

    All up to the last @ and all after the first ? is left out: a password may stand there. What does not look like a server
    and a database after that is not shown at all.

    >>> shown("postgresql://ana:secret@db.example:5432/health?sslmode=require")
    'postgresql://db.example:5432/health'
    """
    scheme = (scheme_of(url) or "").partition("+")[0]
    rest = url.partition("://")[2].rpartition("@")[2].partition("?")[0].partition("#")[0]
    return f"{scheme}://{rest if _SHOWN.fullmatch(rest) else '(address not shown)'}"


def database_file(url: str) -> Path:
    """The file of `duckdb:///path/to/file.db` (three strokes: from here; four: from the root)."""
    return Path(unquote(url.partition("://")[2].partition("#")[0].removeprefix("/")))
