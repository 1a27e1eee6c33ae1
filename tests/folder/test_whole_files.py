"""A file is written whole or not at all, also when a person stops the run in the middle of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kagemusha import files
from kagemusha.errors import OutputError
from kagemusha.folder import table_file


def stopped(*_: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_in_the_middle_of_a_file_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(tmp_path / "model.kage", b"half")
    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        table_file.write_table(pa.table({"a": [1, 2]}), tmp_path / "table.csv")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.kage"
    files.write_whole(path, b"old")
    monkeypatch.setattr(files.os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_made_and_one_that_cannot_be_is_an_error_that_names_the_file(
    tmp_path: Path,
) -> None:
    files.write_whole(tmp_path / "new" / "model.kage", b"x")
    assert (tmp_path / "new" / "model.kage").read_bytes() == b"x"
    (tmp_path / "missing").write_bytes(b"a file")
    with pytest.raises(OutputError, match=r"model\.kage: could not be written"):
        files.write_whole(tmp_path / "missing" / "model.kage", b"x")
