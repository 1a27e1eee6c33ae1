"""Whether a ledger's tables still say what its chain of changes says."""

from __future__ import annotations

import json

from kagemusha.ledger.book import Book
from kagemusha.ledger.tables import CAP_COLUMNS

_BEFORE_LOOKS = 9
"""Fields of a cap before its owner could forbid looks."""


def not_as_told(book: Book) -> str | None:
    """What the tables say otherwise than the chain of changes, if anything: they were changed behind its back."""
    charged: dict[str, int] = {}
    caps: dict[tuple[str, str], list[object]] = {}
    closed: set[str] = set()
    since = book.rows('SELECT min(number) FROM chain WHERE entry LIKE \'%"what": "upgrade"%\'')[0][0]
    for (text,) in book.rows("SELECT entry FROM chain ORDER BY number"):
        entry = json.loads(text)
        if entry["what"] == "cap":
            cap = entry["cap"]
            caps[cap[0], cap[1]] = [*cap, 1] if len(cap) == _BEFORE_LOOKS else cap
        elif entry["what"] == "release":
            charged.setdefault(entry["release"][0], 0)
        elif entry["what"] == "charge" and entry["release"] in charged:
            charged[entry["release"]] += sum(step[2] for step in entry["steps"])
        elif entry["what"] == "close":
            closed.add(entry["release"])
    for record in book.releases():
        if record.id not in charged and since is None:
            return f"release {record.id}"
        if charged.pop(record.id, record.charged) != record.charged or (record.closed and record.id not in closed):
            return f"release {record.id}"
    for row in book.rows(f"SELECT {CAP_COLUMNS} FROM caps"):
        if caps.pop((row[0], row[1]), list(row)) != list(row):
            return f"the cap of {row[0]!r}"
    return f"{len(charged) + len(caps)} things that are gone" if charged or caps else None
