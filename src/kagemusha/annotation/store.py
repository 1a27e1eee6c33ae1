"""Questions and labels in one SQLite file: one transaction per label, so that what was acknowledged is on disk.

Holds synthetic records and what people said about them; nothing in it is private. The loop writes questions and reads
labels, the server hands questions out and writes labels, each from its own process.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kagemusha.annotation.store_file import StoreFile
from kagemusha.errors import UsageError

LEASE = 120.0
"""Seconds for which a question that somebody looks at is not shown to others."""

UNKNOWN, IMPOSSIBLE = "unknown", "impossible"
"""Answers that are no class: cannot tell, and this cannot exist. Both keep the record out of training."""


@dataclass(frozen=True)
class Task:
    """One synthetic record to be labelled."""

    id: int
    round: int
    shown: list[dict[str, Any]]
    """Column, value, and whether the value is unusual."""


@dataclass(frozen=True)
class Said:
    """One label as it stands."""

    task: int
    round: int
    who: str
    answer: str
    codes: list[int]
    shown: list[dict[str, Any]]
    held: bool
    final: bool
    """Whether it settles a disagreement."""
    at: float


class Store(StoreFile):
    """Every method is one transaction."""

    # the loop's side

    def begin(
        self, number: int, quota: int, tasks: Sequence[tuple[list[int], list[dict[str, Any]], bool, int]]
    ) -> bool:
        """A round and its records (codes, what is shown, held out?, labels needed); False if it was begun before."""
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM rounds WHERE number = ?", (number,)).fetchone():
                return False
            database.execute("UPDATE tasks SET rank = NULL WHERE held = 0")  # of earlier rounds
            database.execute("INSERT INTO rounds VALUES (?, ?)", (number, quota))
            rank = 0
            for position, (codes, shown, held, needed) in enumerate(tasks):
                rank += held
                row = (number, position, json.dumps(codes), json.dumps(shown), held, needed, -rank if held else None)
                database.execute(
                    "INSERT INTO tasks (round, position, codes, shown, held, needed, rank) VALUES (?, ?, ?, ?, ?, ?, "
                    "?)",
                    row,
                )
        return True

    def begun(self) -> bool:
        """Whether there was ever a record to label."""
        with self._looking() as database:
            return database.execute("SELECT 1 FROM rounds").fetchone() is not None

    def pool(self, number: int) -> list[list[int]]:
        """Codes of a round's records, by position."""
        with self._looking() as database:
            rows = database.execute("SELECT codes FROM tasks WHERE round = ? ORDER BY position", (number,)).fetchall()
        return [json.loads(row["codes"]) for row in rows]

    def untouched(self, number: int) -> list[int]:
        """Positions of a round's records that nobody has answered and that are not held out."""
        with self._looking() as database:
            rows = database.execute(
                "SELECT position FROM tasks t WHERE round = ? AND held = 0 AND NOT EXISTS "
                "(SELECT 1 FROM labels WHERE task = t.id AND undone = 0) ORDER BY position",
                (number,),
            ).fetchall()
        return [row["position"] for row in rows]

    def ask(self, number: int, positions: Sequence[int]) -> None:
        """Queue these of a round, the first one first, in place of what was queued and is not being looked at."""
        now = time.time()
        with self._transaction() as database:
            database.execute("UPDATE tasks SET rank = NULL WHERE held = 0 AND lease_until < ?", (now,))
            for rank, position in enumerate(positions):
                database.execute("UPDATE tasks SET rank = ? WHERE round = ? AND position = ?", (rank, number, position))

    def counted(self, number: int) -> int:
        """Records of a round that have a class by now."""
        with self._looking() as database:
            (count,) = database.execute(
                "SELECT COUNT(DISTINCT task) FROM labels l JOIN tasks t ON t.id = l.task "
                "WHERE t.round = ? AND undone = 0 AND answer NOT IN (?, ?)",
                (number, UNKNOWN, IMPOSSIBLE),
            ).fetchone()
        return int(count)

    # the people's side

    def owns(self, session: str, who: str) -> bool:
        """Whether a name belongs to this session; it is the session's that used it first."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", (who, session))
            found = database.execute("SELECT session FROM names WHERE who = ?", (who,)).fetchone()
        return bool(found["session"] == session)

    def next(self, who: str) -> Task | None:
        """The next question for somebody, who keeps it for a while.

        None while there is none, or when all labels are in.
        """
        with self._transaction(durable=False) as database:
            return self._next(database, who)

    def label_and_next(self, task: int, who: str, answer: str, key: str) -> Task | None:
        """Write a label and hand out the next question, with one wait for the disk."""
        with self._transaction() as database:
            self._label(database, task, who, answer, key, queued=True)
            return self._next(database, who)

    def _next(self, database: sqlite3.Connection, who: str) -> Task | None:
        now = time.time()
        if self._enough(database):
            return None
        row = database.execute(
            "SELECT id, round, shown FROM tasks t WHERE rank IS NOT NULL AND (lease_until < ? OR lease_by = ?) "
            "AND needed > (SELECT COUNT(*) FROM labels WHERE task = t.id AND undone = 0) "
            "AND NOT EXISTS (SELECT 1 FROM labels WHERE task = t.id AND undone = 0 AND who = ?) "
            "AND NOT EXISTS (SELECT 1 FROM skipped WHERE task = t.id AND who = ?) ORDER BY rank LIMIT 1",
            (now, who, who, who),
        ).fetchone()
        if row is None:
            return None
        database.execute("UPDATE tasks SET lease_by = ?, lease_until = ? WHERE id = ?", (who, now + LEASE, row["id"]))
        return Task(row["id"], row["round"], json.loads(row["shown"]))

    def enough(self) -> bool:
        """Whether all labels are in, so that nobody is asked any more."""
        with self._looking() as database:
            return self._enough(database)

    @staticmethod
    def _enough(database: sqlite3.Connection) -> bool:
        """Whether people have given as many labels as the owner asked for."""
        project = database.execute("SELECT value FROM facts WHERE name = 'project'").fetchone()
        if project is None:
            return False
        wanted = json.loads(project["value"]).get("labels")
        # no more records have a label than there ever were labels, which is known without counting
        if wanted is None or (database.execute("SELECT MAX(id) FROM labels").fetchone()[0] or 0) < wanted:
            return False
        given = database.execute(
            "SELECT COUNT(DISTINCT task) FROM labels WHERE undone = 0 AND answer NOT IN (?, ?)", (UNKNOWN, IMPOSSIBLE)
        ).fetchone()[0]
        return bool(given >= wanted)

    def label(self, task: int, who: str, answer: str, key: str, *, queued: bool = True) -> bool:
        """Write a label. The same `key` again changes nothing (False): a browser that heard no answer may ask again.

        Only what is being asked about may be labelled, unless it comes from elsewhere (`queued` is False).
        """
        with self._transaction() as database:
            return self._label(database, task, who, answer, key, queued=queued)

    @staticmethod
    def _label(database: sqlite3.Connection, task: int, who: str, answer: str, key: str, *, queued: bool) -> bool:
        if database.execute("SELECT 1 FROM labels WHERE key = ?", (key,)).fetchone():
            return False
        found = database.execute("SELECT rank, lease_by FROM tasks WHERE id = ?", (task,)).fetchone()
        # somebody who was shown a record may answer although the next round has begun meanwhile
        if found is None or (queued and found["rank"] is None and found["lease_by"] != who):
            raise UsageError("this record is not being asked about")
        if database.execute(
            "SELECT 1 FROM labels WHERE task = ? AND who = ? AND undone = 0 AND final = 0", (task, who)
        ).fetchone():
            raise UsageError("you have labelled this record already; undo that first")
        database.execute(
            "INSERT INTO labels (task, who, answer, at, key) VALUES (?, ?, ?, ?, ?)",
            (task, who, answer, time.time(), key),
        )
        # what has all its labels leaves the queue, so that looking for the next one stays quick
        database.execute(
            "UPDATE tasks SET lease_until = 0, rank = CASE WHEN needed > "
            "(SELECT COUNT(*) FROM labels WHERE task = tasks.id AND undone = 0) THEN rank END WHERE id = ?",
            (task,),
        )
        return True

    def skip(self, task: int, who: str) -> None:
        """Somebody passes; others may be asked."""
        with self._transaction(durable=False) as database:
            database.execute("INSERT OR IGNORE INTO skipped VALUES (?, ?)", (task, who))
            database.execute("UPDATE tasks SET lease_until = 0 WHERE id = ? AND lease_by = ?", (task, who))

    def undo(self, who: str) -> Task | None:
        """Take somebody's last label back and ask again; None if there is none."""
        with self._transaction() as database:
            row = database.execute(
                "SELECT l.id, t.id AS task, t.round, t.shown FROM labels l JOIN tasks t ON t.id = l.task "
                "WHERE who = ? AND undone = 0 AND final = 0 ORDER BY l.id DESC LIMIT 1",
                (who,),
            ).fetchone()
            if row is None:
                return None
            database.execute("UPDATE labels SET undone = 1 WHERE id = ?", (row["id"],))
            database.execute(
                "UPDATE tasks SET lease_by = ?, lease_until = ?, rank = COALESCE(rank, 0) WHERE id = ?",
                (who, time.time() + LEASE, row["task"]),
            )
        return Task(row["task"], row["round"], json.loads(row["shown"]))

    def settle(self, task: int, who: str, answer: str, key: str) -> bool:
        """Settle a disagreement: this answer stands whatever the others said.

        The same `key` again changes nothing (False).
        """
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM labels WHERE key = ?", (key,)).fetchone():
                return False
            if not database.execute("SELECT 1 FROM labels WHERE task = ? AND undone = 0", (task,)).fetchone():
                raise UsageError("nobody has labelled this record")
            # what people said before stays: agreement is judged by it
            database.execute("UPDATE labels SET undone = 1 WHERE task = ? AND undone = 0 AND final = 1", (task,))
            database.execute(
                "INSERT INTO labels (task, who, answer, at, key, final) VALUES (?, ?, ?, ?, ?, 1)",
                (task, who, answer, time.time(), key),
            )
        return True

    def waiting(self) -> list[Task]:
        """Records that are being asked about, the next one first."""
        with self._looking() as database:
            rows = database.execute(
                "SELECT id, round, shown FROM tasks WHERE rank IS NOT NULL ORDER BY rank"
            ).fetchall()
        return [Task(row["id"], row["round"], json.loads(row["shown"])) for row in rows]

    def records(self) -> dict[int, list[dict[str, Any]]]:
        """What is shown of every record there is."""
        with self._looking() as database:
            return {row["id"]: json.loads(row["shown"]) for row in database.execute("SELECT id, shown FROM tasks")}

    def said(self, *, records: bool = True) -> list[Said]:
        """All labels that stand, oldest first; without `records` only who said what, which is much quicker."""
        record = "t.codes, t.shown" if records else "'[]' AS codes, '[]' AS shown"
        with self._looking() as database:
            rows = database.execute(
                f"SELECT l.task, l.who, l.answer, l.at, l.final, t.round, t.held, {record} FROM labels l "
                "JOIN tasks t ON t.id = l.task WHERE undone = 0 ORDER BY l.id"
            ).fetchall()
        return [
            Said(
                r["task"],
                r["round"],
                r["who"],
                r["answer"],
                json.loads(r["codes"]) if records else [],
                json.loads(r["shown"]) if records else [],
                bool(r["held"]),
                bool(r["final"]),
                r["at"],
            )
            for r in rows
        ]

    def progress(self) -> dict[str, int]:
        """How many records have a class, and how many have an answer that is none."""
        with self._looking() as database:
            (classes,) = database.execute(
                "SELECT COUNT(DISTINCT task) FROM labels WHERE undone = 0 AND answer NOT IN (?, ?)",
                (UNKNOWN, IMPOSSIBLE),
            ).fetchone()
            (others,) = database.execute(
                "SELECT COUNT(DISTINCT task) FROM labels WHERE undone = 0 AND answer IN (?, ?)", (UNKNOWN, IMPOSSIBLE)
            ).fetchone()
        return {"labels": int(classes), "others": int(others)}
