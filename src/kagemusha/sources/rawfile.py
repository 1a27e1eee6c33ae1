"""Table files as they lie on disk: header, lines, stored types, and how DuckDB is to read them.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, TypeVar

from kagemusha.encoding.sql import Stored
from kagemusha.errors import DataError
from kagemusha.sources.lines import BLOCK, Lines, survey, survey_loose, with_line_feeds

Result = TypeVar("Result")

HEAD = 8 * 2**20
DELIMITERS = ",;\t|"
MAGIC = {
    b"\x1f\x8b": "compressed with gzip; name it .csv.gz, or unpack it",
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it",
    b"PAR1": "Parquet; name it .parquet",
}
"""How files begin that are no CSV, and what to do with them."""


@dataclass(frozen=True)
class RawFile:
    """A table file whose header has been read. Its columns are c0, c1, … in the SQL of `scan`."""

    path: Path
    kind: Literal["csv", "parquet"]
    names: tuple[str, ...]
    stored: tuple[Stored, ...]
    delimiter: str
    stamp: tuple[int, int]
    lines: Lines | None = None

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, str]]:
        """A DuckDB, and the FROM clause that reads the file in it; a CSV is read as text, every column."""
        self.check_unchanged()
        columns = ", ".join(f"c{i}" for i in range(len(self.names)))
        with connect() as connection, self._readable() as path:
            if "milliseconds" in self.stored:
                connection.register("whole_file", _with_milliseconds(self.path, self.stored))
            table = "whole_file" if "milliseconds" in self.stored else self._reader(path)
            yield connection, f"{table} AS raw({columns})"

    def check_count(self, rows: int) -> None:
        """Raise `DataError` if a pass over a CSV did not give as many rows as its lines say."""
        if self.lines is not None and rows != self.lines.records - 1:
            raise DataError(f"{self.path}: its records cannot be told apart with certainty; write the file anew as CSV")

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

    @contextmanager
    def _readable(self) -> Iterator[Path]:
        """The file, or for the time of reading a copy that DuckDB can read: it knows one kind of line end a file."""
        lines = self.lines
        if lines is None or not lines.mixed:
            yield self.path
            return
        with TemporaryDirectory(prefix="kagemusha-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / "table.csv"
            shielded(self.path, lambda: _write(copy, _blocks(self.path), self.delimiter, lines.loose))
            yield copy

    def _reader(self, path: Path) -> str:
        if self.kind == "parquet":
            return _parquet_reader(path)
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        parallel = self.lines is None or not self.lines.quoted_ends
        # Empty fields stay empty text: which of them are missing is the schema's decision.
        return (
            f"read_csv({_pattern(path)}, columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = '{self.delimiter}', quote = '\"', escape = '\"', nullstr = '\x01\x02\x03', strict_mode = true, "
            f"ignore_errors = false, null_padding = false, parallel = {str(parallel).lower()})"
        )


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
    return RawFile(file, "csv", names, texts, delimiter, stamp, _lines(file, delimiter))


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
        # It would take the bounds that a Parquet file states for bounds of all values, and NaN lies beyond any.
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
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
    for magic, what in MAGIC.items():
        if head.startswith(magic):
            raise DataError(f"{path}: the file is {what}")
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


def _lines(path: Path, delimiter: str) -> Lines:
    lines = shielded(path, lambda: survey(_blocks(path), delimiter) or survey_loose(_blocks(path), delimiter))
    if lines.nul:
        raise DataError(f"{path}: the file holds NUL bytes; it is not text, or damaged")
    if lines.unclosed is not None:
        raise DataError(f"{path}: a quotation mark is not closed; the last one that opens a field is in line {lines.unclosed}")
    return lines


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a CSV, without the mark that says it is UTF-8."""
    with _open_bytes(path) as stream:
        block = stream.read(BLOCK).removeprefix(codecs.BOM_UTF8)
        while block:
            yield block
            block = stream.read(BLOCK)


def _write(path: Path, blocks: Iterator[bytes], delimiter: str, loose: bool) -> None:
    with path.open("wb") as copy:
        copy.writelines(with_line_feeds(blocks, delimiter, loose=loose))


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
    fields = shielded(path, lambda: pq.read_schema(path))
    names = tuple(fields.names)
    if not names:
        raise DataError(f"{path}: the file has no columns")
    if len(set(names)) != len(names):
        raise DataError(f"{path}: two columns have the same name; every column needs a name of its own")
    query = f"DESCRIBE SELECT * FROM {_parquet_reader(path)}"
    with connect() as connection:
        rows = shielded(path, lambda: connection.execute(query).fetchall())
    stored = (_stored(str(row[1])) for row in rows)
    coarse = (str(kind).startswith(("timestamp[s", "timestamp[ms")) for kind in fields.types)
    return names, tuple("milliseconds" if ms else found for found, ms in zip(stored, coarse, strict=True))


def _with_milliseconds(path: Path, stored: Sequence[Stored]) -> Any:
    """The file as pyarrow reads it, with milliseconds as numbers: one that DuckDB's microseconds do not hold stops it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    columns = {}
    for at, kind in enumerate(stored):
        column = pc.field(at)
        columns[f"c{at}"] = column.cast(pa.timestamp("ms")).cast(pa.int64()) if kind == "milliseconds" else column
    return ds.dataset(path, format="parquet").scanner(columns=columns)


def _stored(sql_type: str) -> Stored:
    if sql_type in ("VARCHAR", "UUID", '"NULL"') or sql_type.startswith(("ENUM", "TIME_NS")) or sql_type == "TIME":
        return "text"
    if sql_type in ("BOOLEAN", "DATE"):
        return "boolean" if sql_type == "BOOLEAN" else "date"
    if sql_type.startswith("TIMESTAMP"):
        if sql_type.endswith("_NS"):
            return "nanoseconds"
        return "zoned" if "ZONE" in sql_type else "timestamp"
    if sql_type in ("FLOAT", "DOUBLE"):
        return "float"
    if sql_type.startswith("DECIMAL") and "[" not in sql_type:
        return "decimal"
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", sql_type):
        return "integer"
    if sql_type == "BLOB":
        return "binary"
    return "nested" if sql_type.endswith("]") or sql_type.startswith(("STRUCT", "MAP", "UNION", "VARIANT")) else "other"


def _parquet_reader(path: Path) -> str:
    return f"read_parquet({_pattern(path)})"


def _pattern(path: Path) -> str:
    # Brackets keep DuckDB from taking *, ? and [ in a file name for a pattern.
    name = re.sub(r"([*?\[])", r"[\1]", str(path.absolute())).replace("'", "''")
    return f"'{name}'"
