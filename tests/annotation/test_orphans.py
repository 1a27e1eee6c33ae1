"""A server that is killed leaves no rounds running, at whatever moment that happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kagemusha.models.table_file import write_table

from .people import SCHEMA, table

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")


def children(parent: int) -> list[int]:
    """Processes started by another."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("after", [0.0, 0.1, 0.5, 2.5])
def test_no_worker_outlives_its_server(tmp_path: Path, after: float) -> None:
    """Killed so many seconds after the worker was started: while it still imports, and while it waits for labels."""
    write_table(table(400), tmp_path / "people.csv")
    SCHEMA.save(tmp_path / "people.toml")
    command = [
        *(sys.executable, "-c", "from kagemusha.cli import main; main()", "annotate", "people.csv"),
        *("--schema", "people.toml", "--label", "ill", "--classes", "no,yes", "--labels", "60", "--rounds", "3"),
    ]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    workers: list[int] = []
    until = time.monotonic() + 60
    try:
        while not workers and time.monotonic() < until:
            assert server.poll() is None
            workers = children(server.pid)
            time.sleep(0.01)
        time.sleep(after)
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
    try:
        assert workers
        until = time.monotonic() + 20
        while any(map(alive, workers)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(alive, workers))
    finally:
        for worker in filter(alive, workers):
            os.kill(worker, signal.SIGKILL)
