"""What lies in a release folder: every entry looked at before it is opened, every file of a release hashed once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kagemusha.files import StrangeFileError, odd_kind, open_regular, read_regular, shown

CERTIFICATE = "certificate.json"
PAGE = "certificate.html"
SIGNATURE = "signature.json"
SCHEMA = "schema.toml"
MODEL = "model.kage"
QUALITY = ("quality.json", "quality.html")
PICTURES = "pictures.png"
TABLES = ("synthetic.csv", "synthetic.parquet")

OUTPUTS = (*TABLES, SCHEMA, MODEL, *QUALITY, PICTURES)
"""What a certificate may name."""

RELEASED = frozenset({CERTIFICATE, PAGE, SIGNATURE, *OUTPUTS})
"""Every name that a release of one table may hold."""

OF_SEVERAL = re.compile(r"synthetic-[A-Za-z0-9_-]{1,64}\.(csv|parquet)|model-[A-Za-z0-9_-]{1,69}\.kage")
"""What a release of related tables holds of each of them."""


REQUIRED_TABLES = "tables"
"""The folder of tables that must be right."""

OF_TABLES = re.compile(rf"{REQUIRED_TABLES}/[0-9]{{1,4}}(-[A-Za-z0-9_-]{{1,60}})?\.csv")


def is_required_table(name: str) -> bool:
    """Whether a file is a table that must be right."""
    return OF_TABLES.fullmatch(name) is not None


def of_several(name: str) -> bool:
    """Whether a file is one of those of which a release may hold several."""
    return OF_SEVERAL.fullmatch(name) is not None or is_required_table(name)


def doubles_file(table: str, kind: str = "csv") -> str:
    """The doubles of one of several tables."""
    return f"synthetic-{table}.{kind}"


def model_file(view: str) -> str:
    """The model of a table, or of its rows beside the row before."""
    return f"model-{view}.kage"


MOST_STRANGERS = 20
"""More entries that belong to no release are not listed."""


@dataclass(frozen=True)
class Inventory:
    """The entries of a folder, as they were when it was looked at."""

    folder: Path
    files: frozenset[str]
    """Regular files whose names a release may hold."""
    strange: Mapping[str, str]
    """All other entries and what is wrong with them; nothing of theirs is opened."""

    @classmethod
    def of(cls, folder: Path) -> Inventory:
        """Look at a folder; links are not followed."""
        files: set[str] = set()
        strange: dict[str, str] = {}
        for name, kind in _entries(folder):
            if kind:
                strange[name] = f"is {kind}; a release holds plain files alone"
            elif name not in RELEASED and not of_several(name):
                strange[name] = "no release holds a file of this name"
            else:
                files.add(name)
            if len(strange) > MOST_STRANGERS:
                break
        return cls(folder, frozenset(files), dict(sorted(strange.items())))

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of every file, in order of their names."""
        return {name: self._hash(name) for name in sorted(self.files)}

    def read(self, name: str) -> bytes:
        """The bytes of a file that is small enough to be read whole; otherwise a `StrangeFileError`."""
        return read_regular(self.folder / name)

    def _hash(self, name: str) -> str:
        digest = hashlib.sha256()
        with open_regular(self.folder / name) as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        return digest.hexdigest()


def _entries(folder: Path, inside: str = "") -> Iterator[tuple[str, str]]:
    """Every entry and what it is, empty for a plain file; those of the one folder that a release may hold, too."""
    with os.scandir(folder / inside) as entries:
        for entry in entries:
            name = f"{inside}/{entry.name}" if inside else entry.name
            if name == REQUIRED_TABLES and entry.is_dir(follow_symlinks=False):
                yield from _entries(folder, name)
            else:
                yield name, odd_kind(entry.stat(follow_symlinks=False).st_mode)


def read_certificate(path: Path) -> str:
    """The text of a certificate file; what cannot be read is a `StrangeFileError`."""
    try:
        return read_regular(path).decode("utf-8")
    except OSError as error:
        raise StrangeFileError(f"cannot be read: {shown(error.strerror)}") from None
    except UnicodeDecodeError:
        raise StrangeFileError("is not UTF-8 text") from None
