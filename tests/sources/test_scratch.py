"""A killed process leaves no value of a table in plain text, and the next one removes what it left."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kagemusha.schema import Category, Schema
from kagemusha.sources.file import FileSource
from kagemusha.sources.rawfile import open_file
from kagemusha.sources.spool import private_folder, sweep

SPILLS = """
from kagemusha.sources.header import connect

with connect() as connection:
    connection.execute("SET memory_limit = '100MB'")
    connection.execute("SET threads = 1")
    connection.execute(
        "CREATE TEMP TABLE x AS SELECT 'canary-' || i || md5(i::varchar) AS v FROM range(30000000) r(i) "
        "ORDER BY md5(i::varchar)"
    )
"""
ENOUGH = 2_000_000
"""Bytes on the disk before the process is killed."""


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def killed_while_spilling(temp: Path) -> list[Path]:
    process = subprocess.Popen([sys.executable, "-c", SPILLS])
    try:
        until = time.monotonic() + 60
        while sum(path.stat().st_size for path in files_in(temp)) < ENOUGH:
            assert process.poll() is None, "it ended before it spilt enough"
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return files_in(temp)


def test_a_killed_process_leaves_nothing_to_read(temp: Path) -> None:
    left = killed_while_spilling(temp)
    assert sum(path.stat().st_size for path in left) >= ENOUGH
    assert sum(path.read_bytes().count(b"canary") for path in left) == 0
    (folder,) = temp.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with private_folder() as own:
        assert list(temp.iterdir()) == [own]
    assert not list(temp.iterdir())


def test_a_folder_in_use_and_what_is_not_ours_stays(temp: Path) -> None:
    (temp / "kagemusha-notes").mkdir()
    (temp / "kagemusha-1-0123456789abcdef.txt").write_text("mine")
    (temp / "kagemusha-1-0123456789abcdef").symlink_to(temp / "kagemusha-notes")
    with private_folder() as one, private_folder() as two:
        (one / "x").write_text("1")
        sweep()
        subprocess.run(
            [sys.executable, "-c", "from kagemusha.sources.spool import sweep; sweep()"], check=True, timeout=60
        )
        assert (one / "x").exists()
        assert two.exists()
    assert len(list(temp.iterdir())) == 3


def test_many_at_once_never_take_each_others_folder(temp: Path) -> None:
    code = """
from kagemusha.sources.spool import private_folder
for _ in range(200):
    with private_folder() as folder:
        (folder / "x").write_text("1")
        assert (folder / "x").read_text() == "1"
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    assert not list(temp.iterdir())


def test_the_copy_of_a_table_with_mixed_line_ends_has_no_name(temp: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"c\na\r\nb\na\r")
    raw = open_file(path)
    assert raw.lines is not None
    assert raw.lines.mixed
    with raw.reading() as (connection, scan):
        assert connection.execute(f"SELECT count(*) FROM {scan}").fetchone() == (3,)
        assert not files_in(temp)
    (counts,) = FileSource(path, Schema([Category("c", categories=("a", "b"))])).count([("c",)])
    assert counts.counts.tolist()[:2] == [2, 1]
