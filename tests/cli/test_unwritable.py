"""A place that cannot be written to is noticed before anything is paid for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from command import Run
from kagemusha.errors import OutputError
from kagemusha.folder import folder
from kagemusha.folder.folder import claimed


def synth(run: Run, patients: Path, out: str, *more: str) -> str:
    done = run("synth", patients, "--schema", "patients.toml", "--out", out, "--method", "independent", *more, code=9)
    assert "nothing was spent" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not patients.with_name("kagemusha-ledger.db").exists(), "the ledger was not even made"
    return done.stderr


def claim(place: Path) -> None:
    with claimed(place):
        pass


def test_a_file_in_the_way(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    assert "taken" in synth(run, patients, "taken/doubles")
    assert "taken" in synth(run, patients, "taken/deep/doubles")
    (tmp_path / ".doubles.lock").mkdir()
    assert ".doubles.lock" in synth(run, patients, "doubles")


def test_a_name_that_is_too_long(run: Run, patients: Path) -> None:
    assert "too long" in synth(run, patients, "x" * 252)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_is_read_only(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "fixed").mkdir(mode=0o500)
    assert "fixed" in synth(run, patients, "fixed/doubles")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "mkdir"])
def test_a_full_or_broken_disk(
    run: Run, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    if call == "fsync":
        monkeypatch.setattr(folder.os, "fsync", refuses)
    else:
        monkeypatch.setattr(Path, "mkdir", refuses)
    before = set(tmp_path.iterdir())
    assert os.strerror(number) in synth(run, patients, "doubles")
    assert set(tmp_path.iterdir()) == before, "nothing is left of the attempt"


def test_room_for_a_name_but_for_nothing_in_it(tmp_path: Path) -> None:
    """A real refusal of the system in the middle of a file, not a made one."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OutputError, match="nothing was spent"):
            claim(tmp_path / "doubles")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.glob(".doubles*"))


def test_nothing_is_left_of_the_attempt(tmp_path: Path) -> None:
    claim(tmp_path / "a" / "b" / "doubles")
    assert list(tmp_path.iterdir()) == []
    left = tmp_path / ".doubles.4711-0a1b2c3d.part"
    left.mkdir()
    (left / "old").write_text("left by a run that was killed")
    other = tmp_path / ".doubles.of-somebody.part"
    other.mkdir()
    claim(tmp_path / "doubles")
    assert list(tmp_path.iterdir()) == [other], "what is no name of ours is not swept"


def test_a_folder_that_may_not_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubles").mkdir()
    monkeypatch.setattr(folder.os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="Permission denied"):
        claim(tmp_path / "doubles")


def test_a_delta_that_verify_would_refuse_is_refused_first(run: Run, patients: Path) -> None:
    refused = run("synth", patients, "--schema", "patients.toml", "--delta", "0.001", code=2)
    assert "delta (--delta) must be at most 1e-05" in refused.stderr
    assert not patients.with_name("kagemusha-ledger.db").exists()
    run("synth", patients, "--schema", "patients.toml", "--delta", "0.001", "--seed", 1, "--simulation",
        "--method", "independent")  # fmt: skip
