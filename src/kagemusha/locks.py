"""One at a time: a lock on a name in a folder, which the system takes back when its holder dies."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kagemusha.errors import OutputError

if sys.platform == "win32":
    import msvcrt

    def _take(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: BinaryIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


_HELD = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
"""What systems say of a lock that somebody else holds."""


@contextmanager
def alone(path: Path, held: str) -> Iterator[None]:
    """Hold the lock file `path`, or raise an `OutputError` with the words `held` where somebody else does.

    The lock belongs to an open file, so it ends with the process, however that ends; nobody has to guess whether a holder
    still lives. The file goes when the lock does. An `OSError` is that of the file system.
    """
    while True:
        file = path.open("ab")
        try:
            _take(file)
            # whoever held it before may have taken this very file away meanwhile: then it locks nothing any more
            current = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except OSError as error:
            file.close()
            if error.errno in _HELD:
                raise OutputError(held) from None
            if error.errno != errno.ENOENT:
                raise
            continue
        if current:
            break
        file.close()
    try:
        yield
    finally:
        with suppress(OSError):  # Windows takes no open file away; an empty one stays there and locks nothing
            path.unlink()
        file.close()
