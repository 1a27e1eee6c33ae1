"""Labelling pages that the studio starts: `kagemusha annotate` in a process that ends with the studio."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.studio.calls import Call
from kagemusha.studio.place import Table
from kagemusha.web.calls import Refused

LINK = re.compile(r"http://127\.0\.0\.1:\d+/enter\?token=\S+")
SAID = re.compile(r"^kagemusha: (.*)$", re.M)
PATIENCE = 90.0
"""Seconds in which the page must be there."""

CLASS = re.compile(r"[^\W_][^,]{0,59}|[<>][^,]{1,58}")


@dataclass(frozen=True)
class Labelling:
    """What people are asked about doubles of a table, and what the rounds may spend."""

    where: str
    place: str | None
    """The table of a database."""
    schema: str
    ledger: str
    folder: str
    question: str
    classes: str
    labels: int
    epsilon: float

    @property
    def digest(self) -> str:
        """A name for exactly this."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def command(self) -> list[str]:
        """What somebody at a terminal would have typed, after the name of the program."""
        at = [] if self.place is None else ["--table", self.place]
        return [
            *("annotate", "label", self.where, *at, "--schema", self.schema, "--label", self.question),
            *("--classes", self.classes, "--labels", str(self.labels), "--epsilon", f"{self.epsilon:g}"),
            *("--ledger", self.ledger, "--out", self.folder),
        ]


def labelling_of(table: Table, given: Mapping[str, Any], language: str) -> Labelling | None:
    """The labelling that these fields describe; None while no question is asked."""
    call = Call("", {**given, "lang": language})
    if table.several:
        raise UsageError(call.say("this is for one table; tables that belong together do not have it so far"))
    question = call.text("question", most=60)
    if not question:
        return None
    if not re.fullmatch(r"[^\W\d_]\w*", question):
        raise UsageError(call.say("the question must be one word, such as urgency: it becomes a column"))
    classes = [part.strip() for part in call.text("classes").split(",") if part.strip()]
    if not 2 <= len(classes) <= 20 or not all(map(CLASS.fullmatch, classes)):
        raise UsageError(call.say("say 2 to 20 possible answers, with commas between them"))
    return Labelling(
        where=table.where,
        place=table.place,
        schema=str(table.schema),
        ledger=str(table.ledger),
        folder=str(table.home / f"{table.stem}-labels-{question}"),
        question=question,
        classes=",".join(classes),
        labels=call.count("labels", 20, 100_000) or 200,
        epsilon=float(f"{call.number('epsilon', 1e-3, 1e3):.6g}"),
    )


class Labellings:
    """The labelling pages that are open, one per folder."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
        self._lock = Lock()

    def start(self, wanted: Labelling, log: Path) -> str:
        """The link of its page, which is started where it is not open; nothing is paid or asked twice."""
        with self._lock:
            process, link = self._open.get(wanted.folder, (None, ""))
            if process is not None and process.poll() is None:
                return link
            command = [sys.executable, "-m", "kagemusha.studio.tied", sys.executable, "-m", "kagemusha"]
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [*command, *wanted.command], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT
                )
            link = _link(process, log)
            self._open[wanted.folder] = (process, link)
            return link

    @property
    def busy(self) -> bool:
        """Whether any of them is open."""
        return any(process.poll() is None for process, _ in self._open.values())

    def stop(self) -> None:
        """Close them all; what was labelled is kept."""
        for process, _ in self._open.values():
            if process.stdin is not None:
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(15)


def _link(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        text = "".join(log.read_text(encoding="utf-8", errors="replace").split("\r"))
        found = LINK.search(text)
        if found:
            return found[0]
        if process.poll() is not None:
            said = SAID.findall(text)
            raise UsageError(said[-1] if said else "the labelling page ended by itself")
        time.sleep(0.1)
    process.terminate()
    raise UsageError("the labelling page did not start")


def require_agreed(call: Call, wanted: Labelling, *, agreed: bool) -> None:
    """Refuse what was not shown, or not agreed to in one's own hand."""
    if not agreed:
        raise Refused(409, call.say("this is not what the page showed: look at it again, nothing was spent"))
    if " ".join(call.text("typed").lower().split()) != f"spend {wanted.epsilon:g}":
        raise UsageError(call.say("type “spend {epsilon}” to agree; nothing was spent", epsilon=f"{wanted.epsilon:g}"))
