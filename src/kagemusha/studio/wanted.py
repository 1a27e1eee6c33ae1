"""A release that somebody wants: what the page shows, what the job keeps on disk, and the order that is carried out."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kagemusha.files import declares_several, scheme_of
from kagemusha.making import Order, Output
from kagemusha.privacy.budget import Budget
from kagemusha.studio.place import Table

DISCOVER = 0.05
"""Share of the budget that finds what a schema leaves open, where it leaves anything open."""


@dataclass(frozen=True)
class Wanted:
    """A release as it would be paid for. Two with equal fields, of one schema, are one job."""

    ref: str
    where: str
    place: str | None
    ledger: str
    folder: str
    epsilon: float
    schema: str
    """The text of the schema, as it was when somebody agreed to pay."""
    cap: float | None = None
    key: str = ""
    rows: int | None = None
    discover: float | None = None
    file_kind: str = "csv"

    @property
    def digest(self) -> str:
        """A name for exactly this."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:24]

    def order(self, schema: Path) -> Order:
        """What is carried out; `schema` is a file with the schema's text."""
        return Order(
            table=self.where if scheme_of(self.where) else Path(self.where),
            place=self.place,
            budget=Budget(self.epsilon),
            schema=schema,
            ledger=self.ledger if scheme_of(self.ledger) else Path(self.ledger),
            cap=self.cap,
            key=self.key,
            discover=self.discover,
            output=Output(folder=self.folder, rows=self.rows, file_kind=self.file_kind),
        )

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Wanted:
        """What a job kept."""
        return cls(**kept)


def free_folder(table: Table) -> Path:
    """Where the next release of a table goes if nobody says: its name, with a number if there is one already."""
    first = table.home / f"{table.stem}-doubles"
    number, found = 1, first
    while found.exists():
        number += 1
        found = table.home / f"{first.name}-{number}"
    return found


def commands(wanted: Wanted, table: Table, folder: Path) -> list[str]:
    """The commands that somebody at a terminal in `folder` would have typed."""

    def near(path: str | Path) -> str:
        return os.path.relpath(path, folder) if scheme_of(str(path)) is None else str(path)

    data, schema, out = near(wanted.where), near(table.schema), near(wanted.folder)
    at = [] if wanted.place is None else ["--table", wanted.place]
    synth = ["kagemusha", "synth", data, *at, "--schema", schema, "--epsilon", f"{wanted.epsilon:g}", "--out", out]
    synth += [] if scheme_of(wanted.where) is None else ["--ledger", near(wanted.ledger)]
    for option, value in (("--cap", wanted.cap), ("--rows", wanted.rows), ("--discover", wanted.discover)):
        synth += [] if value is None else [option, f"{value:g}" if option != "--rows" else str(value)]
    synth += ["--key", wanted.key] if wanted.key else []
    edited = ["schema", "check"] if declares_several(table.schema) else ["schema", "edit"]
    lines = [
        ["kagemusha", "schema", "propose", data, *at, "--out", schema],
        ["kagemusha", *edited, schema],
        ["kagemusha", "plan", schema, "--epsilon", f"{wanted.epsilon:g}"],
        synth,
        ["kagemusha", "verify", out],
    ]
    return [shlex.join(line) for line in lines]
