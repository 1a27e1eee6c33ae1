"""Work that takes longer than a page waits: each job's order is on disk before it starts, and is taken up again.

A job is a folder. `order.json` says what is to be done and is never changed; `outcome.json` comes when it is done.
What lies between, a process of its own does; when the server dies, that process ends too, and the next server starts
it again. A release is paid for in the ledger, so that doing it again pays nothing twice.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.errors import UsageError
from kagemusha.files import read_regular, write_whole

ORDER, OUTCOME, PROGRESS, REPORT = "order.json", "outcome.json", "progress.json", "INTERNAL-report.html"
RESTS = 0.2
"""Seconds between two looks at the queue."""


@dataclass(frozen=True)
class Job:
    """One piece of work."""

    id: str
    kind: str
    fields: Mapping[str, Any]
    began: float
    outcome: Mapping[str, Any] | None
    progress: Mapping[str, Any]

    @property
    def state(self) -> str:
        """waiting, working, done or failed."""
        if self.outcome is not None:
            return "failed" if "error" in self.outcome else "done"
        return "working" if self.progress else "waiting"

    @property
    def done(self) -> float:
        """The share that is done, from 0 to 1."""
        return 1.0 if self.outcome is not None else float(self.progress.get("done", 0.0))

    @property
    def seconds_left(self) -> float | None:
        """What is left if it goes on as it went; None while nobody can know."""
        spent, done = time.time() - float(self.progress.get("since", time.time())), self.done
        return None if self.outcome is not None or done < 0.02 or spent < 1 else spent * (1 - done) / done


class Jobs:
    """The jobs of a folder; one at a time is worked on, in the order in which they came."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._worker: subprocess.Popen[bytes] | None = None

    def submit(self, id: str, kind: str, fields: Mapping[str, Any]) -> Job:
        """Keep an order, once; what is there under this name already is that job."""
        with self._lock:
            place = self._place(id)
            if not (place / ORDER).exists():
                place.mkdir(mode=0o700, exist_ok=True)
                order = {"kind": kind, "began": time.time(), "fields": dict(fields)}
                write_whole(place / ORDER, json.dumps(order).encode())
        return self.get(id)

    def again(self, id: str) -> Job:
        """Try once more what failed."""
        with self._lock:
            if self.get(id).state == "failed":
                (self._place(id) / OUTCOME).unlink(missing_ok=True)
                (self._place(id) / PROGRESS).unlink(missing_ok=True)
        return self.get(id)

    def get(self, id: str) -> Job:
        """A job as it stands now."""
        place = self._place(id)
        order = _read(place / ORDER)
        if order is None:
            raise UsageError("there is no such job")
        progress = _read(place / PROGRESS) or {}
        return Job(id, order["kind"], order["fields"], order["began"], _read(place / OUTCOME), progress)

    def all(self) -> list[Job]:
        """All jobs, newest first."""
        found = [self.get(path.parent.name) for path in self.folder.glob(f"*/{ORDER}")]
        return sorted(found, key=lambda job: -job.began)

    def report(self, id: str) -> Path:
        """The page that a job left behind, whether it is there or not."""
        return self._place(id) / REPORT

    @property
    def busy(self) -> bool:
        """Whether anything is left to do."""
        return bool(self._unfinished())

    def start(self) -> None:
        """Work on whatever is not done, now and from now on."""
        threading.Thread(target=self._work, daemon=True).start()

    def stop(self) -> None:
        """Stop working; what was begun is taken up again by the next server."""
        self._stopped.set()
        if self._worker is not None and self._worker.poll() is None:
            self._worker.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._worker.wait(10)

    def _work(self) -> None:
        while not self._stopped.wait(RESTS):
            waiting = self._unfinished()
            if not waiting:
                continue
            place = waiting[0]
            self._worker = subprocess.Popen(
                [sys.executable, "-m", "kagemusha.studio.worker", str(place)],
                stdin=subprocess.PIPE,  # nothing is ever written: it closes with this process
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            code = self._worker.wait()
            if not self._stopped.is_set() and not (place / OUTCOME).exists():
                why = f"the work ended by itself (code {code}); nothing is lost, and what was paid stays paid"
                write_whole(place / OUTCOME, json.dumps({"error": why}).encode())

    def _unfinished(self) -> list[Path]:
        """The folders of jobs without an outcome, the oldest first."""
        orders = [path for path in self.folder.glob(f"*/{ORDER}") if not (path.parent / OUTCOME).exists()]
        return [path.parent for path in sorted(orders, key=lambda path: path.stat().st_mtime)]

    def _place(self, id: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{24}", id):
            raise UsageError("there is no such job")
        return self.folder / id


def _read(path: Path) -> Any:
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError):
        return None
