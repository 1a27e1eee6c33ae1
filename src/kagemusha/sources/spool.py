"""Codes kept for later passes: in memory as far as there is room, beyond that in a file that nobody else can open."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns.bins import code_type
from kagemusha.errors import DataError

_NAME = re.compile(r"kagemusha-[0-9]+-[0-9a-f]{16}")


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that only this user may enter; folders of processes that were killed are removed first."""
    if os.name != "posix":  # no locks on folders: what a killed process leaves stays in the user's own folder
        with tempfile.TemporaryDirectory(prefix="kagemusha-", ignore_cleanup_errors=True) as own:
            yield Path(own)
        return
    sweep()
    folder, lock = _new_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep() -> None:
    """Remove what processes of this user left when they were killed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                _remove_if_dead(Path(entry.path))


def _new_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.gettempdir()) / f"kagemusha-{os.getpid()}-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        lock = _lock(folder, wait=True)
        if lock is not None:
            return folder, lock
        # somebody swept it up between the two lines above


def _lock(folder: Path, *, wait: bool) -> int | None:
    """The locked folder, if it is still there and (unless we `wait`) nobody else holds it."""
    import fcntl

    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if os.path.samestat(os.fstat(number), folder.lstat()):
            return number
    except OSError:
        pass
    os.close(number)
    return None


def _remove_if_dead(folder: Path) -> None:
    lock = _lock(folder, wait=False)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


KEEP = 256 * 2**20
"""Bytes of codes that stay in memory."""


class Spool:
    """Chunks of codes, column by column. The file has no name, so it is gone with the process, however that ends."""

    def __init__(self, sizes: Sequence[int], *, keep: int = KEEP, disk: bool = True) -> None:
        self._types = [code_type(size) for size in sizes]
        self._room, self._disk = keep, disk
        self._chunks: list[list[Codes] | tuple[int, int]] = []
        self._file: IO[bytes] | None = None
        self.complete = True
        """False once a chunk found room neither in memory nor on disk."""

    def add(self, columns: Sequence[Codes]) -> None:
        """Keep one chunk."""
        if not self.complete:
            return
        chunk = [np.ascontiguousarray(c, dtype=t) for c, t in zip(columns, self._types, strict=True)]
        self._room -= sum(column.nbytes for column in chunk)
        if self._room >= 0:
            self._chunks.append(chunk)
        elif not (self._disk and self._write(chunk)):
            self.complete = False
            self._chunks.clear()

    def _write(self, chunk: list[Any]) -> bool:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="kagemusha-")  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            at = self._file.seek(0, os.SEEK_END)
            for column in chunk:
                self._file.write(memoryview(column))
            self._file.flush()
        except OSError:  # no room on the disk: later passes read the table again
            return False
        self._chunks.append((at, len(chunk[0])))
        return True

    def __iter__(self) -> Iterator[list[Codes]]:
        for chunk in self._chunks:
            yield chunk if isinstance(chunk, list) else self._read(*chunk)

    def _read(self, at: int, rows: int) -> list[Codes]:
        assert self._file is not None
        self._file.seek(at)
        return [np.frombuffer(self._file.read(rows * kind.itemsize), dtype=kind) for kind in self._types]

    def required(self) -> Spool:
        """Itself, if it holds everything; a `DataError` if there was no room."""
        if not self.complete:
            raise DataError(
                "there is no room on the disk for the codes of the table; free some, or set TMPDIR to a larger one"
            )
        return self
