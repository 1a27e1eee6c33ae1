"""Codes kept for later passes: in memory as far as there is room, beyond that in a file that nobody else can open."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from kagemusha.arrays import Codes
from kagemusha.columns.bins import code_type
from kagemusha.errors import DataError

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
