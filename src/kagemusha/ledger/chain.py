"""The history of a ledger as a hash chain: every change is an entry that holds the digest of the one before.

Its head (how many entries, and the last digest) goes out with every certificate and into a small file beside the
ledger. Whoever sees a head can tell an older copy of the ledger, or another one in its place, from the one that made
it: the chain must still hold that entry with that digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.errors import LedgerError
from kagemusha.files import read_regular, write_whole

TABLES = """
CREATE TABLE IF NOT EXISTS identity (id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chain (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, digest TEXT NOT NULL)
"""


@dataclass(frozen=True)
class Head:
    """The last entry of a ledger's chain, as somebody saw it."""

    ledger: str
    number: int
    digest: str

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {"ledger": self.ledger, "number": self.number, "digest": self.digest}

    @classmethod
    def from_json(cls, data: Any) -> Head | None:
        """The head a dictionary describes, or None if it describes none."""
        if not isinstance(data, Mapping):
            return None
        ledger, number, digest = (data.get(key) for key in ("ledger", "number", "digest"))
        if isinstance(ledger, str) and isinstance(number, int) and isinstance(digest, str):
            return cls(ledger, number, digest)
        return None


def make(db: Any) -> None:
    """The tables of a chain, and the ledger's own name; called inside a transaction."""
    for statement in TABLES.split(";\n"):
        db.execute(statement)
    if db.execute("SELECT count(*) FROM identity").fetchone()[0] == 0:
        db.execute("INSERT INTO identity VALUES (?)", (os.urandom(8).hex(),))


def append(db: Any, what: str, **facts: Any) -> None:
    """Add an entry, inside the transaction of the change it tells of. Answers are not in it, their digests are."""
    head = read_head(db)
    entry = json.dumps({"what": what, **facts}, sort_keys=True, ensure_ascii=True)
    row = (head.number + 1, entry, _digest(head.digest, head.number + 1, entry))
    db.execute("INSERT INTO chain (number, entry, digest) VALUES (?, ?, ?)", row)


def read_head(db: Any) -> Head:
    """Where the chain ends."""
    (ledger,) = db.execute("SELECT id FROM identity").fetchone()
    last = db.execute("SELECT number, digest FROM chain ORDER BY number DESC LIMIT 1").fetchone() or (0, "")
    return Head(ledger, *last)


def holds(db: Any, head: Head) -> bool:
    """Whether the chain goes through this head."""
    if head.number == 0:
        return True
    row = db.execute("SELECT digest FROM chain WHERE number = ?", (head.number,)).fetchone()
    return row is not None and bool(row[0] == head.digest)


def broken_at(db: Any) -> int | None:
    """The first entry that does not follow from the one before, if any."""
    before, expected = "", 1
    for number, entry, digest in db.execute("SELECT number, entry, digest FROM chain ORDER BY number"):
        if number != expected or digest != _digest(before, number, entry):
            return int(number)
        before, expected = digest, number + 1
    return None


def _digest(before: str, number: int, entry: str) -> str:
    return hashlib.sha256(f"{before}\n{number}\n{entry}".encode()).hexdigest()


def head_file(ledger: str | Path) -> Path:
    """The file beside a ledger that holds its head."""
    return Path(f"{ledger}.head")


def save_head(path: Path, head: Head) -> None:
    """Write a head to a witness file."""
    write_whole(path, (json.dumps(head.to_json()) + "\n").encode())


def seen_heads(witnesses: Iterable[Path]) -> list[tuple[Path, Head]]:
    """The heads in witness files and certificates; a file that names none is passed over."""
    found = []
    for path in witnesses:
        try:
            data = json.loads(read_regular(path, follow=True))  # a pipe in its place is no witness, nor waited for
        except (OSError, ValueError, RecursionError):
            continue
        head = Head.from_json(data.get("ledger") if isinstance(data, dict) and "format" in data else data)
        if head is not None:
            found.append((path, head))
    return found


def require_not_older(db: Any, path: str, heads: Iterable[tuple[Path, Head]]) -> None:
    """Refuse a ledger that lacks an entry somebody has seen, or that stands in another one's place."""
    own = read_head(db)
    for witness, head in heads:
        if head.ledger == own.ledger and not holds(db, head):
            raise LedgerError(
                f"ledger {path}: {witness} has seen its entry {head.number}, and it ends at {own.number} or has "
                f"another one "
                "there: it is an older copy, or was changed. What was released since would not count. Nothing was spent"
            )
        if head.ledger != own.ledger and witness == head_file(path):
            raise LedgerError(
                f"ledger {path}: another ledger was here before ({witness} has seen its entry {head.number}). Put that "
                f"one back, or remove {witness} to begin anew. Nothing was spent"
            )
