"""What a studio may touch: the files below one folder, and the tables of connections saved in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kagemusha.certificate.inventory import CERTIFICATE
from kagemusha.errors import UsageError
from kagemusha.files import TABLE_FILES, address_shown, read_regular, scheme_of, write_whole
from kagemusha.ledger import default_ledger
from kagemusha.ledger.open import NAME as LEDGER

HIDDEN = ".studio"
"""Secrets and jobs of the studio, for its owner's eyes alone."""

KINDS = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq", ".xlsx", ".ods", ".dta", ".sav", ".sas7bdat")
DATABASE = ".duckdb"
"""A file that holds several tables."""

TOGETHER = "-tables"
"""Ends the name of a schema of several tables, so that it is not that of one of them."""

WHOLE = ".*"
"""Ends the name of a schema of a server whose tables belong together."""

DEEPEST, MOST_LISTED = 3, 300
MOST_NAME = 60


@dataclass(frozen=True)
class Table:
    """A private table, and where what belongs to it lies."""

    ref: str
    """What pages call it: a path below the folder, or @ and the name of a connection."""
    where: str
    """As commands take it: a path, or an address without a password."""
    place: str | None
    """The table of a database."""
    schema: Path
    home: Path
    """The folder that releases are written in."""
    ledger: str | Path
    several: bool = False
    """Whether it is tables that belong together: a folder, a DuckDB file, or a schema of PostgreSQL."""

    @property
    def name(self) -> str:
        """What people call it."""
        return Path(self.where).name if self.place is None else f"{self.place} ({self.ref[1:]})"

    @property
    def is_file(self) -> bool:
        """Whether it is one file, and no server's."""
        return self.place is None and not self.several

    @property
    def stem(self) -> str:
        """What its schema and releases are called after."""
        return self.schema.stem


class Place:
    """One folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder")
        self.folder = folder.resolve()
        self.hidden = self.folder / HIDDEN
        if self.hidden.is_symlink():
            raise UsageError(f"{self.hidden} is a link; the studio keeps its secrets in a folder of its own")
        self.hidden.mkdir(mode=0o700, exist_ok=True)
        os.chmod(self.hidden, 0o700)

    def below(self, path: str) -> Path:
        """The file or folder of that name; what leads out of the folder, links followed, does not exist."""
        try:
            found = (self.folder / path).resolve() if path and "\0" not in path else None
            if found is not None:
                found.exists()  # a name that no file can have
        except (OSError, RuntimeError):
            found = None
        if found is None or not found.is_relative_to(self.folder) or found.is_relative_to(self.hidden):
            raise UsageError(f"{path!r}: no such file below this folder")
        return found

    def relative(self, path: Path) -> str:
        """A path as people below the folder write it."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)

    def table(self, ref: str) -> Table:
        """The table that a page names."""
        if ref.startswith("@"):
            saved = self.connections().get(ref[1:])
            if saved is None:
                raise UsageError(f"{ref[1:]!r}: no such connection")
            address, name = saved
            several = name.endswith(WHOLE)
            name = name.removesuffix(WHOLE)
            stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in name.rpartition(".")[2])[:MOST_NAME]
            stem += TOGETHER if several else ""
            ledger = os.environ.get("KAGEMUSHA_LEDGER") or self.folder / LEDGER
            return Table(ref, address, name, self.folder / f"{stem}.toml", self.folder, ledger, several)
        path = self.below(ref)
        if ref.endswith("/") and path.is_dir() and len(self._held(path)) > 1:
            name = f"{path.name}{TOGETHER}.toml"
            return Table(ref, str(path), None, path / name, path, default_ledger(path), several=True)
        if ref.endswith("/") or not path.is_file() or not path.name.lower().endswith((*KINDS, DATABASE)):
            raise UsageError(f"{ref!r}: no such table below this folder")
        if path.name.lower().endswith(DATABASE):
            address = f"duckdb:///{path}"
            own = path.parent / f"{path.name.split('.')[0]}{TOGETHER}.toml"
            return Table(ref, address, None, own, path.parent, default_ledger(address), several=True)
        return Table(ref, str(path), None, path.parent / f"{path.name.split('.')[0]}.toml", path.parent,
                     default_ledger(path))  # fmt: skip

    def tables(self) -> list[str]:
        """The files that may be tables."""
        return [self.relative(path) for path in self._walk() if path.name.lower().endswith(KINDS)]

    def together(self) -> list[str]:
        """What may hold tables that belong together: folders with several files, and files of DuckDB."""
        files = list(self._walk())
        folders = {path.parent for path in files if path.name.lower().endswith(TABLE_FILES)}
        found = [f"{self.relative(one)}/" for one in sorted(folders) if len(self._held(one)) > 1]
        return found + [self.relative(path) for path in files if path.name.lower().endswith(DATABASE)]

    def held(self, table: Table) -> list[str]:
        """The files that are looked at together; none of a database."""
        return self._held(Path(table.where)) if table.several and scheme_of(table.where) is None else []

    def _held(self, folder: Path) -> list[str]:
        """Names of the files in a folder that may be tables of one release.

        None if any of them is a link that leads out of ours.
        """
        there = [path for path in sorted(folder.iterdir()) if path.name.lower().endswith(TABLE_FILES)]
        inside = all(path.resolve().is_relative_to(self.folder) for path in there)
        return [path.name for path in there if path.is_file()] if inside else []

    def releases(self) -> list[str]:
        """The release folders."""
        return [self.relative(path.parent) for path in self._walk(inside=True) if path.name == CERTIFICATE]

    def release(self, ref: str) -> Path:
        """The release folder that a page names."""
        path = self.below(ref)
        if not (path / CERTIFICATE).is_file():
            raise UsageError(f"{ref!r}: no release below this folder")
        return path

    def _walk(self, *, inside: bool = False) -> Iterator[Path]:
        """Files below the folder, a few levels deep; those of releases only if they are asked for."""
        found = 0
        for at, folders, files in os.walk(self.folder):
            here = Path(at)
            deep = len(here.relative_to(self.folder).parts)
            folders[:] = sorted(f for f in folders if not f.startswith(".")) if deep < DEEPEST else []
            if CERTIFICATE in files and not inside:
                continue
            for name in sorted(files):
                path = here / name
                if not name.startswith(".") and path.resolve().is_relative_to(self.folder):
                    yield path
                    found += 1
                    if found >= 20 * MOST_LISTED:
                        return

    def connections(self) -> dict[str, tuple[str, str]]:
        """Saved connections: name → address and table."""
        path = self.hidden / "connections.json"
        if not path.exists():
            return {}
        kept = json.loads(read_regular(path))
        return {name: (one["address"], one["table"]) for name, one in kept.items()}

    def connect(self, name: str, address: str, table: str) -> str:
        """Save a connection; a password has no place in it. Returns what pages call its table."""
        if not (0 < len(name) <= MOST_NAME and name.replace("-", "").replace("_", "").isalnum()):
            raise UsageError(f"the name of a connection must be 1 to {MOST_NAME} letters, digits, - or _")
        if scheme_of(address) not in ("postgresql", "postgres", "postgresql+psycopg") or not table.strip():
            raise UsageError("a connection is postgresql://user@host/database, and the name of a table")
        login = address.partition("://")[2].rpartition("@")[0]
        if ":" in login or "password" in address.lower():
            raise UsageError("leave the password out: the driver takes it from PGPASSWORD or ~/.pgpass")
        kept = {n: {"address": a, "table": t} for n, (a, t) in self.connections().items()}
        kept[name] = {"address": address, "table": table.strip()}
        write_whole(self.hidden / "connections.json", json.dumps(kept, indent=1).encode())
        os.chmod(self.hidden / "connections.json", 0o600)
        return f"@{name}"

    def shown(self) -> list[tuple[str, str]]:
        """Connections as pages list them: what they call the table, and its address without a login."""
        return [(f"@{n}", f"{address_shown(a)}: {t}") for n, (a, t) in sorted(self.connections().items())]
