"""Folders for what does not fit into memory: of this user alone, gone afterwards, and swept up if the process was killed.

A process holds a lock on its folder as long as it lives, however it ends; process numbers come again and mean little in
containers. So whoever can take the lock knows that nobody uses the folder any more, and removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
