"""Table files as they lie on disk, and how DuckDB is to read them."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal

from kagemusha.columns.stored import Stored
from kagemusha.encodings import as_utf8
from kagemusha.errors import DataError
from kagemusha.files import odd_kind
from kagemusha.sources.header import (
    connect,
    csv_header,
    distinct,
    file_head,
    is_utf8,
    open_bytes,
    parquet_header,
    parquet_reader,
    pattern,
    shielded,
)
from kagemusha.sources.lines import BLOCK, Lines, survey, survey_loose, with_line_feeds
from kagemusha.sources.spool import private_folder

NAMELESS = Path("/dev/fd")
"""Where open files can be read by a path, on systems that have such a place."""

LONGEST = 32 << 20
"""Bytes of the longest record of a CSV. A table with a longer one is refused, whoever's record it is
(docs/trust.md)."""


DOCUMENTS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")
"""Files of other programs: see `documents`."""


@dataclass(frozen=True)
class RawFile:
    """A table file whose header has been read. Its columns are c0, c1, … in what `reading` gives."""

    path: Path
    kind: Literal["csv", "parquet"]
    names: tuple[str, ...]
    stored: tuple[Stored, ...]
    delimiter: str
    stamp: tuple[int, int]
    lines: Lines | None = None
    encoding: str | None = None
    """What lines are in that are not UTF-8, as declared."""
    rewritten: bool = False
    """Whether it is no UTF-8 text, or need not be."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For columns whose values the file's own dictionary labels: all labels, in its order."""

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, str]]:
        """A DuckDB, and the FROM clause that reads the file in it; a CSV is read as text, every column."""
        self.check_unchanged()
        columns = ", ".join(f"c{i}" for i in range(len(self.names)))
        with connect(len(self.names)) as connection, self._readable() as path:
            through_arrow = self.kind == "parquet" and bool({"milliseconds", "interval"} & set(self.stored))
            if through_arrow:
                connection.register("whole_file", _by_arrow(self.path, self.stored))
            table = "whole_file" if through_arrow else self._reader(path)
            yield connection, f"{table} AS raw({columns})"

    def check_count(self, rows: int) -> None:
        """Raise `DataError` if a pass over a CSV did not give as many rows as its lines say."""
        if self.lines is not None and rows != self.lines.records - 1:
            raise DataError(
                f"{self.path}: its records cannot be distinguished with certainty; write the file anew as CSV"
            )

    def source(self, position: int) -> str:
        """The SQL expression of one column in what `reading` gives; of milliseconds, the number."""
        # DuckDB 2.0 moves a TRY_CAST of a bare column into its CSV reader as a plain cast, and one unreadable
        # value then fails the whole file (duckdb#23818). A CSV holds no NULL, so coalesce changes nothing else.
        return f"coalesce(raw.c{position}, '')" if self.kind == "csv" else f"raw.c{position}"

    def fingerprint(self) -> str:
        """A digest of the whole file. Private: whoever has a guess at the table could check it."""
        with self.path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()

    def check_unchanged(self) -> None:
        """Raise `DataError` if the file is not the one whose header was read."""
        if file_stamp(self.path) != self.stamp:
            raise DataError(f"{self.path}: the file changed while it was being read; open it again")

    @contextmanager
    def _readable(self) -> Iterator[Path]:
        """The file, or for the time of reading a copy that DuckDB can read: UTF-8, with one kind of line end."""
        lines = self.lines
        if lines is None or not (lines.mixed or self.rewritten):
            yield self.path
            return
        if not NAMELESS.is_dir():  # a system where an open file cannot be read by a path
            with private_folder() as folder, (folder / "copy.csv").open("w+b") as copy:
                self._copy(copy, lines)
                yield folder / "copy.csv"
            return
        with TemporaryFile(prefix="kagemusha-") as copy:
            self._copy(copy, lines)
            # the file has no name, so it is gone with the process, however that ends
            yield NAMELESS / str(copy.fileno())

    def _copy(self, copy: IO[bytes], lines: Lines) -> None:
        shielded(self.path, lambda: _write(copy, _blocks(self.path, self.encoding), self.delimiter, lines.loose))

    def _reader(self, path: Path) -> str:
        if self.kind == "parquet":
            return parquet_reader(path)
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        parallel = self.lines is None or not self.lines.quoted_ends
        # Empty fields stay empty text: which of them are missing is the schema's decision.
        return (
            f"read_csv({pattern(path)}, columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = '{self.delimiter}', quote = '\"', escape = '\"', nullstr = '\x01\x02\x03', strict_mode = true, "
            f"max_line_size = {LONGEST}, buffer_size = {2 * LONGEST}, ignore_errors = false, null_padding = false, "
            f"parallel = {str(parallel).lower()})"
        )


def open_file(path: str | PathLike[str], encoding: str | None = None) -> RawFile:
    """Read the header of a CSV (also .csv.gz, .tsv) or Parquet file; `DataError` if it is no table."""
    file = Path(path)
    stamp = file_stamp(file)
    if file.suffix.lower() in (".parquet", ".pq"):
        names, stored = parquet_header(file)
        return RawFile(file, "parquet", names, stored, ",", stamp)
    if file.suffix.lower() in DOCUMENTS:
        from kagemusha.sources.documents import open_document

        return open_document(file, stamp)
    if not is_text_file(file):
        raise DataError(
            f"{file}: the name must end in .csv, .csv.gz, .tsv, .txt, .parquet, .pq or {', '.join(DOCUMENTS)}"
        )
    names, delimiter = csv_header(file, encoding)
    texts: tuple[Stored, ...] = tuple("text" for _ in names)
    rewritten = not is_utf8(file_head(file), encoding)
    lines = _lines(file, delimiter, encoding)
    return RawFile(file, "csv", distinct(names), texts, delimiter, stamp, lines, encoding, rewritten)


def is_text_file(path: Path) -> bool:
    """Whether its name says that it is a table written as text."""
    return bool({".csv", ".tsv", ".txt"} & {suffix.lower() for suffix in path.suffixes})


def read_header(path: str | PathLike[str], encoding: str | None = None) -> tuple[str, ...]:
    """The column names of a CSV or Parquet file."""
    return open_file(path, encoding).names


def file_stamp(path: Path) -> tuple[int, int]:
    """Size and time of a file, by which a change shows; a `DataError` if there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        status = None
    if status is None:
        raise DataError(f"{path}: there is no such file, or it may not be read")
    if path.is_dir():
        raise DataError(f"{path}: this is a directory, not a table file")
    kind = odd_kind(status.st_mode)
    if kind:
        raise DataError(f"{path}: this is {kind}, not a table file; a table is read more than once")
    if not status.st_size:
        raise DataError(f"{path}: the file is empty")
    return status.st_size, status.st_mtime_ns


def _lines(path: Path, delimiter: str, encoding: str | None) -> Lines:
    def look() -> Lines:
        blocks = partial(_blocks, path, encoding)
        return survey(blocks(), delimiter) or survey_loose(blocks(), delimiter)

    lines = shielded(path, look)
    if lines.nul:
        raise DataError(f"{path}: the file holds NUL bytes; it is not text, or damaged")
    if lines.unclosed is not None:
        raise DataError(
            f"{path}: a quotation mark is not closed; the last one that opens a field is in line {lines.unclosed}"
        )
    return lines


def _blocks(path: Path, encoding: str | None) -> Iterator[bytes]:
    """The bytes of a CSV in UTF-8, without the mark that says it is that."""
    with open_bytes(path) as stream:
        block = stream.read(BLOCK)
        if not is_utf8(block, encoding):
            yield from as_utf8(chain([block], iter(lambda: stream.read(BLOCK), b"")), encoding)
            return
        block = block.removeprefix(codecs.BOM_UTF8)
        while block:
            yield block
            block = stream.read(BLOCK)


def _write(copy: IO[bytes], blocks: Iterator[bytes], delimiter: str, loose: bool) -> None:
    copy.writelines(with_line_feeds(blocks, delimiter, loose=loose))
    copy.flush()


def _by_arrow(path: Path, stored: Sequence[Stored]) -> Any:
    """The file as pyarrow reads it, with what DuckDB takes for numbers (durations) or fails on (far milliseconds)."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    columns = {}
    for at, kind in enumerate(stored):
        column = pc.field(at)
        if kind == "milliseconds":
            column = column.cast(pa.timestamp("ms")).cast(pa.int64())
        elif kind == "interval":
            column = column.cast(pa.duration("us"), safe=False)
        columns[f"c{at}"] = column
    return ds.dataset(path, format="parquet").scanner(columns=columns)
