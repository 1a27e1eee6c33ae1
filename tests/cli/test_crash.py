"""kill -9 at any moment: the spend stands, the retry reuses the stored answers, and nothing is paid twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from command import COMMAND

SYNTH = (
    "synth",
    "patients.csv",
    "--schema",
    "patients.toml",
    "--method",
    "aim",
    "--option",
    "rounds=40",
    "--out",
    "doubles",
)


def answered(ledger: Path) -> int:
    if not ledger.exists():
        return -1
    try:
        with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=0.2) as db:
            return int(db.execute("SELECT count(*) FROM steps WHERE answer IS NOT NULL").fetchone()[0])
    except sqlite3.Error:
        return -1


@pytest.mark.parametrize("after", [-1, 0, 3, 8])
def test_a_killed_release_goes_on_without_paying_again(run, patients: Path, tmp_path: Path, after: int) -> None:  # type: ignore[no-untyped-def]
    ledger = tmp_path / "kagemusha-ledger.db"
    process = subprocess.Popen([*COMMAND, *SYNTH], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.time() + 60
    while answered(ledger) < after and process.poll() is None and time.time() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with sqlite3.connect(ledger) if ledger.exists() else sqlite3.connect(":memory:") as db:
        before = (
            db.execute("SELECT key, answer FROM steps WHERE answer IS NOT NULL").fetchall()
            if ledger.exists() and answered(ledger) > 0
            else []
        )
    run(*SYNTH, "--force")
    with sqlite3.connect(ledger) as db:
        reserved, charged = db.execute("SELECT reserved, charged FROM releases").fetchone()
        units, steps = db.execute("SELECT sum(units), count(*) FROM steps").fetchone()
        stored = dict(db.execute("SELECT key, answer FROM steps").fetchall())
    assert charged == units <= reserved
    assert all(stored[key] == answer for key, answer in before), "a stored answer was replaced"
    assert all(answer is not None for answer in stored.values())
    run("verify", "doubles")
    run(*SYNTH, "--force")
    with sqlite3.connect(ledger) as db:
        assert db.execute("SELECT sum(units), count(*) FROM steps").fetchone() == (units, steps)
