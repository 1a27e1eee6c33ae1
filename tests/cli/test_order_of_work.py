"""Table and certificate first, the quality pages after them: whatever stops the second half leaves a valid release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kagemusha.door as door
from kagemusha.folder.folder import Place
from kagemusha.forensics.verify import verify_release
from kagemusha.making import release

SYNTH = ("synth", "patients.csv", "--schema", "patients.toml", "--method", "independent", "--out", "doubles")
QUALITY = {"quality.json", "quality.html"}


def releases(run) -> list[dict]:  # type: ignore[no-untyped-def,type-arg]
    return json.loads(run("ledger", "show", "--json").stdout)["releases"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), MemoryError()])
def test_a_stop_while_judging_leaves_a_valid_release(  # type: ignore[no-untyped-def]
    run, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    folder = tmp_path / "doubles"

    def stopped(*_: object, **__: object) -> dict[str, bytes]:
        assert verify_release(folder).accepted, "the release must be whole before it is judged"
        raise stop

    with monkeypatch.context() as patched:
        patched.setattr(release, "quality_files", stopped)
        with pytest.raises(type(stop)):
            door.publish(
                door.fit("independent", patients, 1.0, schema=tmp_path / "patients.toml", ledger=tmp_path / "l.db"),
                folder,
                ledger=tmp_path / "l.db",
            )
    assert not QUALITY & {path.name for path in folder.iterdir()}
    run("verify", "doubles", "--ledger", "l.db")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_who_stops_the_judging_is_told_what_there_is(  # type: ignore[no-untyped-def]
    run, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(release, "quality_files", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
        told = door_run(run)
    assert "doubles is a whole release" in told.stderr
    before = [r["charged"] for r in releases(run)]
    run(*SYNTH)
    assert {path.name for path in (tmp_path / "doubles").iterdir()} >= QUALITY
    assert [r["charged"] for r in releases(run)] == before
    run("verify", "doubles", "--ledger", "kagemusha-ledger.db")


def door_run(run):  # type: ignore[no-untyped-def]
    """A bug shows its traceback, which the other tests refuse; here it is asked for."""
    from command import in_this_process

    done = in_this_process([*SYNTH])
    assert done.returncode == 1
    return done


def test_no_release_is_closed_without_its_output(  # type: ignore[no-untyped-def]
    run, patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kagemusha.errors import OutputError

    def full(*_: object, **__: object) -> None:
        raise OutputError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Place, "write", full)
        run(*SYNTH, code=OutputError.exit_code)
    assert [r["state"] for r in releases(run)] == ["open"]
    run(*SYNTH)
    assert [r["state"] for r in releases(run)] == ["closed"]
    assert {path.name for path in (tmp_path / "doubles").iterdir()} >= QUALITY


def test_replacing_a_release_never_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kagemusha.folder.folder import _take_place

    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / "which").write_text(folder.name)
    rename = Path.rename

    def stopped(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", stopped)
        with pytest.raises(KeyboardInterrupt):
            _take_place(new, old)
    assert (old / "which").read_text() == "old"
    _take_place(new, old)
    assert (old / "which").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
