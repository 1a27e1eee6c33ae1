"""Table files as they lie on disk: header, stored types, and how DuckDB is to read them.

DuckDB's own messages quote the line they stumble over. None of them leaves this file: `shielded` puts a text of
ours in their place and raises it outside the handler, so that not even the exception's context holds a value.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, TypeVar

from kagemusha.encoding.sql import Stored
from kagemusha.errors import DataError

Result = TypeVar("Result")

HEAD = 8 * 2**20
DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class RawFile:
    """A table file whose header has been read. Its columns are c0, c1, … in the SQL of `scan`."""

    path: Path
    kind: Literal["csv", "parquet"]
    names: tuple[str, ...]
    stored: tuple[Stored, ...]
    delimiter: str
    stamp: tuple[int, int]

    def scan(self) -> str:
        """The FROM clause that reads the file; a CSV is read as text, every column."""
        columns = ", ".join(f"c{i}" for i in range(len(self.names)))
        return f"{_reader(self.path, self.kind, self.delimiter, len(self.names))} AS raw({columns})"

    def source(self, position: int) -> str:
        """The SQL expression of one column of `scan`."""
        # DuckDB 2.0 moves a TRY_CAST of a bare column into its CSV reader as a plain cast, and one unreadable
        # value then fails the whole file (duckdb#23818). A CSV holds no NULL, so coalesce changes nothing else.
        return f"coalesce(raw.c{position}, '')" if self.kind == "csv" else f"raw.c{position}"

    def fingerprint(self) -> str:
        """A digest of the whole file. Private: whoever has a guess at the table could check it."""
        with self.path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()

    def check_unchanged(self) -> None:
        """Raise `DataError` if the file is not the one whose header was read."""
        if _stamp(self.path) != self.stamp:
            raise DataError(f"{self.path}: the file changed while it was being read; open it again")


def open_file(path: str | PathLike[str]) -> RawFile:
    """Read the header of a CSV (also .csv.gz, .tsv) or Parquet file; `DataError` if it is no table."""
    file = Path(path)
    stamp = _stamp(file)
    if file.suffix.lower() in (".parquet", ".pq"):
        names, stored = _parquet_header(file)
        return RawFile(file, "parquet", names, stored, ",", stamp)
    if not {".csv", ".tsv", ".txt"} & {suffix.lower() for suffix in file.suffixes}:
        raise DataError(f"{file}: the name must end in .csv, .csv.gz, .tsv, .txt, .parquet or .pq")
    names, delimiter = _csv_header(file)
    texts: tuple[Stored, ...] = tuple("text" for _ in names)
    return RawFile(file, "csv", names, texts, delimiter, stamp)


def read_header(path: str | PathLike[str]) -> tuple[str, ...]:
    """The column names of a CSV or Parquet file."""
    return open_file(path).names


@contextmanager
def connect() -> Iterator[Any]:
    """A DuckDB in memory that touches nothing but the files it is told to read.

    What does not fit into its memory it writes to a folder that only this user may enter, gone afterwards.
    """
    import duckdb

    config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "memory_limit": "1GB"}
    with (
        TemporaryDirectory(prefix="kagemusha-", ignore_cleanup_errors=True) as folder,
        duckdb.connect(config={**config, "temp_directory": folder}) as connection,
    ):
        yield connection


def shielded(path: Path, call: Callable[[], Result]) -> Result:
    """The result of `call`; whatever it raises becomes a `DataError` that shows no value of the file."""
    try:
        return call()
    except Exception as error:
        trouble = _explain(str(error))
    raise DataError(f"{path}: {trouble}")


def _explain(message: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"line {line[1]} " if line else ""
    ragged = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if ragged:
        return f"{where}has {ragged[2]} fields where the header has {ragged[1]}"
    if "not utf-8 encoded" in message:
        return f"{where or 'the file '}is not UTF-8 text; convert the file to UTF-8"
    if "unterminated quote" in message:
        return f"{where or 'the file '}has a quotation mark that is not closed or is followed by more text"
    if "aximum line size" in message:
        return f"{where or 'a line '}is longer than 2 MB"
    return "the file is damaged or is not of the format its name says"


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except (OSError, ValueError):
        status = None
    if status is None:
        raise DataError(f"{path}: there is no such file, or it may not be read")
    if path.is_dir():
        raise DataError(f"{path}: this is a directory, not a table file")
    if not status.st_size:
        raise DataError(f"{path}: the file is empty")
    return status.st_size, status.st_mtime_ns


def _csv_header(path: Path) -> tuple[tuple[str, ...], str]:
    head = shielded(path, lambda: _head(path))
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head[:4]:
        raise DataError(f"{path}: the file is UTF-16 or UTF-32 text; convert the file to UTF-8")
    text = _decoded(head)
    if text is None:
        raise DataError(f"{path}: the file is not UTF-8 text; convert the file to UTF-8")
    candidates = "\t" if path.suffix.lower() == ".tsv" else DELIMITERS
    headers = [(fields, mark) for mark in candidates if (fields := _first_record(text, mark))]
    if not headers:
        raise DataError(f"{path}: the first line is not a header of column names")
    fields, delimiter = max(headers, key=lambda header: len(header[0]))
    if shielded(path, lambda: _holds_nul(path)):
        raise DataError(f"{path}: the file holds NUL bytes; it is not text, or damaged")
    first: dict[str, int] = {}
    for position, name in enumerate(fields, 1):
        if not name:
            raise DataError(f"{path}: column {position} of the header has no name")
        if first.setdefault(name, position) != position:
            raise DataError(
                f"{path}: columns {first[name]} and {position} of the header have the same name; "
                "every column needs a name of its own"
            )
    return tuple(fields), delimiter


def _open_bytes(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _head(path: Path) -> bytes:
    with _open_bytes(path) as stream:
        return bytes(stream.read(HEAD))


def _holds_nul(path: Path) -> bool:
    """Whether a NUL byte stands anywhere: no text has one, so the file is damaged, whatever it is."""
    with _open_bytes(path) as stream:
        return any(b"\0" in block for block in iter(lambda: stream.read(1 << 22), b""))


def _decoded(head: bytes) -> str | None:
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        pass
    # The bad bytes may lie in the records, where DuckDB can say in which line.
    first_line = head.splitlines()[0]
    try:
        return first_line.decode("utf-8-sig") + "\n"
    except UnicodeDecodeError:
        return None


def _first_record(text: str, delimiter: str) -> list[str] | None:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), None)
    except csv.Error:
        return None


def _parquet_header(path: Path) -> tuple[tuple[str, ...], tuple[Stored, ...]]:
    import pyarrow.parquet as pq

    # DuckDB renames columns that differ in case only; pyarrow tells the names as they are.
    names = tuple(shielded(path, lambda: pq.read_schema(path).names))
    if not names:
        raise DataError(f"{path}: the file has no columns")
    if len(set(names)) != len(names):
        raise DataError(f"{path}: two columns have the same name; every column needs a name of its own")
    query = f"DESCRIBE SELECT * FROM {_reader(path, 'parquet', ',', len(names))}"
    with connect() as connection:
        rows = shielded(path, lambda: connection.execute(query).fetchall())
    return names, tuple(_stored(str(row[1])) for row in rows)


def _stored(sql_type: str) -> Stored:
    if sql_type in ("VARCHAR", "UUID", '"NULL"') or sql_type.startswith("ENUM"):
        return "text"
    if sql_type in ("BOOLEAN", "DATE"):
        return "boolean" if sql_type == "BOOLEAN" else "date"
    if sql_type.startswith("TIMESTAMP"):
        return "zoned" if "ZONE" in sql_type else "timestamp"
    if sql_type in ("FLOAT", "DOUBLE") or re.fullmatch(r"DECIMAL\(\d+,\d+\)", sql_type):
        return "float"
    return "integer" if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", sql_type) else "nested"


def _reader(path: Path, kind: str, delimiter: str, width: int) -> str:
    # Brackets keep DuckDB from taking *, ? and [ in a file name for a pattern.
    name = re.sub(r"([*?\[])", r"[\1]", str(path.absolute())).replace("'", "''")
    if kind == "parquet":
        return f"read_parquet('{name}')"
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    # Empty fields stay empty text: which of them are missing is the schema's decision.
    return (
        f"read_csv('{name}', columns = {{{columns}}}, auto_detect = false, header = true, delim = '{delimiter}', "
        "quote = '\"', escape = '\"', nullstr = '\x01\x02\x03', strict_mode = true, ignore_errors = false, "
        "null_padding = false)"
    )
