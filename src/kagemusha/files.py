"""Files: written whole or not at all, and known by their digest."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

from kagemusha.errors import OutputError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is either complete or absent, also when the disk is full."""
    # a name of its own: two processes that write the same file must not take each other's part away
    part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise OutputError(f"{path}: could not be written ({error.strerror})") from None
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
