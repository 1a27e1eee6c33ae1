"""The schema of a table while somebody works on it: every change is on disk at once, and can be taken back."""

from __future__ import annotations

import hashlib
from pathlib import Path
from threading import RLock

from kagemusha.editing.keeping import kept
from kagemusha.errors import UsageError
from kagemusha.files import write_whole
from kagemusha.proposal.propose import column_names, propose, propose_kinds
from kagemusha.proposal.related import propose_persons, propose_related
from kagemusha.schema import Schema
from kagemusha.schema.declared import Declared, load_declared
from kagemusha.studio.place import Place, Table

MOST_UNDO = 200
"""Changes that can be taken back."""


class Drafts:
    """The schema files of a folder. Whoever changes one holds the `lock` from reading it to keeping it."""

    def __init__(self, place: Place) -> None:
        self._place, self.lock = place, RLock()
        self._seen: dict[Path, tuple[tuple[int, int], Declared]] = {}

    def exists(self, table: Table) -> bool:
        """Whether somebody has begun."""
        return table.schema.is_file()

    def load(self, table: Table) -> Declared:
        """The schema as it is on disk now."""
        if not self.exists(table):
            raise UsageError(f"{table.schema.name}: there is no schema yet; draft one first")
        state = table.schema.stat()
        stamp = (state.st_mtime_ns, state.st_size)
        known = self._seen.get(table.schema)
        if known is None or known[0] != stamp:
            known = self._seen[table.schema] = (stamp, load_declared(table.schema))
        return known[1]

    def alone(self, table: Table) -> Schema:
        """The schema, which must be of one table."""
        found = self.load(table)
        if not isinstance(found, Schema):
            raise UsageError("this is for one table; tables that belong together do not have it so far")
        return found

    def text(self, table: Table) -> str:
        """The file as it is on disk now."""
        return table.schema.read_text(encoding="utf-8-sig")

    def names(self, table: Table) -> tuple[str, ...]:
        """The names of the columns of a file; none of a database until it is drafted."""
        return column_names(Path(table.where)) if table.is_file else ()

    def draft(self, table: Table, *, kinds_only: bool, persons: str = "") -> None:
        """A first draft; every fact in it that comes from rows is marked until a person confirms it.

        `persons` is the column that says whose a row is, where one long table is drafted as persons and their rows.
        """
        if table.several:
            self.keep(table, propose_related(table.where, place=table.place))
        elif persons:
            self.keep(table, propose_persons(table.where, persons, table=table.place))
        else:
            self.keep(table, (propose_kinds if kinds_only else propose)(table.where, table=table.place))

    def keep(self, table: Table, schema: Declared) -> None:
        """Save a changed schema; what was there before can be had again."""
        with self.lock:
            if table.schema.exists():
                steps = self._steps(table)
                number = 1 + (int(steps[-1].stem) if steps else 0)
                write_whole(self._past(table) / f"{number:08}.toml", table.schema.read_bytes())
                for old in steps[: max(0, len(steps) - MOST_UNDO)]:
                    old.unlink(missing_ok=True)
                kept(table.schema, self.load(table), schema)
            else:
                write_whole(table.schema, schema.dumps().encode())

    def undo(self, table: Table) -> bool:
        """Take the last change back; False if there is none."""
        with self.lock:
            steps = self._steps(table)
            if not steps:
                return False
            write_whole(table.schema, steps[-1].read_bytes())
            steps[-1].unlink()
            return True

    def can_undo(self, table: Table) -> bool:
        """Whether there is a change to take back."""
        return bool(self._steps(table))

    def _past(self, table: Table) -> Path:
        name = hashlib.sha256(str(table.schema).encode()).hexdigest()[:16]
        return self._place.hidden / "undo" / name

    def _steps(self, table: Table) -> list[Path]:
        return sorted(self._past(table).glob("*.toml"))
