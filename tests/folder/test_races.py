"""Many runs, one folder: one of them writes it, the others say so, and a certificate is about the table beside it."""

from __future__ import annotations

import multiprocessing
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pandas as pd
import pytest
from writer import write

import kagemusha as kg
from command import COMMAND
from kagemusha.certificate.certificate import Certificate
from kagemusha.errors import KagemushaError, OutputError
from kagemusha.files import sha256
from kagemusha.folder import folder
from kagemusha.folder.folder import claimed, write_bundle
from kagemusha.forensics.verify import verify_release

SCHEMA = kg.Schema([kg.Category("sex", categories=("F", "M")), kg.Integer("age", lower=0, upper=99, bins=5)])
PEOPLE = pd.DataFrame({"sex": ["F", "M"] * 100, "age": range(200)})

BUSY, THERE = "another release is being written there", "already exists"


@pytest.fixture(scope="module")
def models() -> list[kg.Model]:
    return [kg.fit("independent", PEOPLE, epsilon, schema=SCHEMA) for epsilon in (0.5, 9.0)]


def held(place: Path) -> Certificate:
    """The certificate of a folder that is whole, with nothing left beside it."""
    assert verify_release(place).accepted
    assert [p.name for p in place.parent.iterdir() if p.name.startswith(".")] == []
    return Certificate.from_json((place / "certificate.json").read_text())


@contextmanager
def no_lock(*_: object) -> Iterator[None]:
    """A file system whose locks do not hold."""
    yield


@pytest.mark.parametrize("locks", [True, False])
def test_two_promises_interleaved(
    models: list[kg.Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    """The second run comes when the table of the first is written and not yet hashed."""
    if not locks:
        monkeypatch.setattr(folder, "alone", no_lock)
        monkeypatch.setattr(folder, "_sweep", lambda target: None)  # it trusts the lock
    there, go = Event(), Event()
    write = folder.write_tables

    def slowly(tables: Any, path: Path, **how: Any) -> int:
        rows = write(tables, path, **how)
        if not there.is_set():
            there.set()
            assert go.wait(30)
        return rows

    monkeypatch.setattr(folder, "write_tables", slowly)
    place = tmp_path / "out"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(write_bundle, models[0], place, rows=50, replace=True)
        assert there.wait(30)
        try:
            if locks:
                with pytest.raises(OutputError, match=BUSY):
                    write_bundle(models[1], place, rows=50, replace=True)
            else:
                write_bundle(models[1], place, rows=50, replace=True)
        finally:
            go.set()
        certificate = first.result(30)
    assert certificate.promised.epsilon == 0.5
    assert held(place) == certificate
    assert (certificate.outputs or {})["synthetic.csv"] == sha256(place / "synthetic.csv")


def race(models: list[kg.Model], place: Path, runs: int, replace: bool) -> Counter[str]:
    """So many runs that start at the same moment; how they ended."""
    start = Barrier(runs)

    def run(number: int) -> Certificate | str:
        start.wait()
        try:
            return write_bundle(models[number % 2], place, rows=20, replace=replace)
        except KagemushaError as error:
            return BUSY if BUSY in str(error) else THERE if THERE in str(error) else str(error)

    with ThreadPoolExecutor(runs) as pool:
        found = list(pool.map(run, range(runs)))
    winners = [one for one in found if isinstance(one, Certificate)]
    assert held(place) in winners
    return Counter("won" if isinstance(one, Certificate) else one for one in found)


def test_twenty_at_once_ten_times(models: list[kg.Model], tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    for number in range(10):
        found = race(models, tmp_path / f"out{number}", 20, replace=False)
        assert found["won"] == 1
        assert set(found) <= {"won", BUSY, THERE}
        total += found
    assert total[BUSY] > 0
    assert sum(total.values()) == 200


def test_twenty_that_replace_each_other(models: list[kg.Model], tmp_path: Path) -> None:
    for _ in range(3):
        found = race(models, tmp_path / "out", 20, replace=True)
        assert set(found) <= {"won", BUSY}
        assert found["won"] >= 1


def test_processes(models: list[kg.Model], tmp_path: Path) -> None:
    for i, model in enumerate(models):
        model.save(tmp_path / f"{i}.kage")
    out = tmp_path / "here" / "out"
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["writer"])
    ready, ended = forks.Barrier(6), forks.Queue()
    runs = [forks.Process(target=write, args=(tmp_path / f"{i % 2}.kage", out, ready, ended)) for i in range(6)]
    for run in runs:
        run.start()
    said = [ended.get(timeout=60) for _ in runs]
    for run in runs:
        run.join(60)
    assert said.count("won") == 1
    assert all(one == "won" or BUSY in one or THERE in one for one in said), said
    held(out)


@pytest.mark.slow
def test_twenty_commands_at_once(tmp_path: Path) -> None:
    """Other promises, one folder, one ledger: one wins, and nobody else pays."""
    import json

    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    SCHEMA.save(tmp_path / "people.toml")
    line = [*COMMAND, "synth", "people.csv", "-s", "people.toml", "-m", "independent", "--out", "out", "--cap", "100"]
    runs = [
        subprocess.Popen([*line, "--key", str(i), "-e", str(1 + i % 2)], cwd=tmp_path, stderr=subprocess.PIPE,
            text=True,
                         stdout=subprocess.DEVNULL)
        for i in range(20)
    ]  # fmt: skip
    said = [run.communicate(timeout=300)[1] for run in runs]
    codes = Counter(run.returncode for run in runs)
    assert codes[0] == 1, codes
    assert all(run.returncode == 0 or BUSY in text or THERE in text for run, text in zip(runs, said, strict=True)), said
    held(tmp_path / "out")
    shown = subprocess.run([*COMMAND, "ledger", "show", "--json"], cwd=tmp_path, capture_output=True, check=True)
    assert len(json.loads(shown.stdout)["releases"]) == 1


def test_what_a_killed_run_was_about_to_replace_comes_back(models: list[kg.Model], tmp_path: Path) -> None:
    place = tmp_path / "out"
    certificate = write_bundle(models[0], place, rows=20)
    place.rename(tmp_path / ".out.4711-0a1b2c3d.old")  # killed between two renames
    (tmp_path / ".out.4711-0a1b2c3d.part").mkdir()
    with claimed(place):
        assert place.exists()
    assert held(place) == certificate
