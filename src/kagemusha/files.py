"""Files, written whole, locked, and read with care; and addresses of databases, of which no login is ever shown."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NoReturn
from urllib.parse import unquote

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

    The lock belongs to an open file, so it ends with the process, however that ends; nobody has to guess whether a
    holder still lives. The file goes when the lock does. An `OSError` is that of the file system.
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


MOST_TEXT = 32 << 20
"""Bytes of the largest text that is read whole: a certificate, a page, a schema."""

FREE_PARTS, BYTES_PER_PART = 100_000, 8
"""A JSON text may have so many lists, objects and entries, and one more for so many of its bytes."""

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class StrangeFileError(ValueError):
    """A file that is not opened, or not read to its end; the text says why."""


def shown(text: object) -> str:
    """The text on one line, with all that could move a cursor, turn the reading direction or hide replaced by escapes.

    >>> print(shown("a\\x1b[2Jb\\u202ec"))
    a\\x1b[2Jb\\u202ec
    """
    raw = str(text)
    if raw.isprintable():
        return raw
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in raw)


def odd_kind(mode: int) -> str:
    """What a file is that is no regular one, from its mode; empty for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    return next((name for is_one, name in _KINDS if is_one(mode)), "no regular file")


def os_flags(*names: str) -> int:
    """Flags for opening a file, without those that this operating system has not."""
    return sum(getattr(os, name, 0) for name in names)


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """The file, open for reading, if it is a regular one.

    Never waits for a pipe, and follows links only if asked to.
    """
    flags = os.O_RDONLY | os_flags("O_BINARY", "O_NONBLOCK", "O_CLOEXEC")
    before = path.stat() if follow else path.lstat()
    kind = odd_kind(before.st_mode)
    if kind:
        raise StrangeFileError(f"is {kind}")
    number = os.open(path, flags if follow else flags | os_flags("O_NOFOLLOW"))
    try:
        # it may have been exchanged between the look and the opening
        kind = odd_kind(os.fstat(number).st_mode)
        if kind:
            raise StrangeFileError(f"is {kind}")
        return os.fdopen(number, "rb")
    except BaseException:
        with suppress(OSError):
            os.close(number)
        raise


def read_regular(path: Path, most: int = MOST_TEXT, *, follow: bool = False) -> bytes:
    """All bytes of a regular file, if there are no more than `most`."""
    with open_regular(path, follow=follow) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise StrangeFileError(f"is larger than {most >> 20} MiB")
    return data


def parse_json(text: str | bytes) -> Any:
    """Strict JSON, unless it has too many parts for its size: `[[],[],…` asks for forty times its own size of memory.

    Anything else is a ValueError.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if parts_of(data) > FREE_PARTS + len(data) // BYTES_PER_PART:
        raise StrangeFileError("has too many parts")
    try:
        return json.loads(data, parse_constant=_no_number)
    except RecursionError:
        raise StrangeFileError("is nested too deeply") from None


def parts_of(data: bytes) -> int:
    """Lists, objects and entries of a JSON text, at most: texts may hold commas and brackets, too."""
    return sum(map(data.count, (b"[", b"{", b",")))


def _no_number(name: str) -> NoReturn:
    raise StrangeFileError(f"holds {name}, which is no number of JSON")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
_SHOWN = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:]+\])?(?::[0-9]{1,5})?(?:,[\w.-]+(?::[0-9]{1,5})?)*(?:/[\w .%+-]*)?")


def scheme_of(where: object) -> str | None:
    """The scheme of an address such as postgresql://host/name; None for what is none."""
    found = _SCHEME.match(where) if isinstance(where, str) else None
    return found[0].lower() if found else None


def is_postgres(where: object) -> bool:
    """Whether an address is one of a PostgreSQL server."""
    scheme = scheme_of(where)
    return scheme is not None and scheme.partition("+")[0] in ("postgresql", "postgres")


LOGIN = "the server refused the login: user or password is wrong (the driver also looks at PGPASSWORD and ~/.pgpass)"


def refused_login(state: str | None, message: str) -> bool:
    """Whether a PostgreSQL server was reached and did not accept who asked.

    libpq gives no SQLSTATE (28P01, 28000) for what happens while it connects, only words.
    """
    words = ("authentication failed", "no password supplied", "no pg_hba.conf entry")
    return state in ("28P01", "28000") or any(word in message for word in words)


def address_shown(url: str) -> str:
    """An address as messages, ledgers and certificates may show it: server and database alone.

    All up to the last @ and all after the first ? is left out: a password may stand there. What does not look like a
    server and a database after that is not shown at all.

    >>> address_shown("postgresql://ana:secret@db.example:5432/health?sslmode=require")
    'postgresql://db.example:5432/health'
    """
    scheme = (scheme_of(url) or "").partition("+")[0]
    rest = url.partition("://")[2].rpartition("@")[2].partition("?")[0].partition("#")[0]
    return f"{scheme}://{rest if _SHOWN.fullmatch(rest) else '(address not shown)'}"


def database_file(url: str) -> Path:
    """The file of `duckdb:///path/to/file.db` (three strokes: from here; four: from the root)."""
    return Path(unquote(url.partition("://")[2].partition("#")[0].removeprefix("/")))


def is_images(path: Path) -> bool:
    """Whether a path is one of pictures: an .npz file, or a folder."""
    return path.suffix.lower() == ".npz" or path.is_dir()


def holds_pictures(table: Any) -> bool:
    """Whether something that may be a path is one of pictures."""
    return isinstance(table, str | PathLike) and scheme_of(table) is None and is_images(Path(table))


TABLE_FILES = (".csv", ".parquet", ".csv.gz", ".tsv")
"""How the files of related tables are called, behind the names of the tables."""


def holds_tables(folder: Path) -> bool:
    """Whether a path is a folder of tables."""
    return folder.is_dir() and any(file.name.lower().endswith(TABLE_FILES) for file in folder.iterdir())


def declares_several(path: str | PathLike[str]) -> bool:
    """Whether a schema file declares tables that belong together; what cannot be read is said where it is read."""
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False
    unit = document.get("unit")
    return "tables" in document or (isinstance(unit, dict) and "persons" in unit)
