"""The DuckDB that reads table files, with a shield around it, and the head of such a file.

Its columns and how they are stored.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from kagemusha.columns.parse import without_bar
from kagemusha.columns.stored import Stored
from kagemusha.encodings import UTF16, as_utf8
from kagemusha.errors import DataError
from kagemusha.sources.spool import private_folder

Result = TypeVar("Result")


@contextmanager
def connect(columns: int = 0) -> Iterator[Any]:
    """A DuckDB in memory that touches nothing but the files it is given to read.

    What does not fit into its memory (half a gigabyte, and a little for each of `columns`, which a reader holds side by
    side) it writes, encrypted with a key that is only in memory, to a folder that only this user may enter, gone
    afterwards.
    """
    import duckdb

    config = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": f"{512 + columns // 8}MB",
    }
    with (
        private_folder() as folder,
        duckdb.connect(config={**config, "temp_directory": str(folder)}) as connection,
    ):
        # DuckDB calls its own cipher unsafe because keys come from a fast random generator; a better one would need an
        # extension that opens the network. What is written lives as long as this process, or until the next one sweeps
        # it up.
        connection.execute("SET force_mbedtls_unsafe = 'true'")
        connection.execute("SET temp_file_encryption = true")
        # A bar would be drawn into the output stream, where a command's own answer is expected.
        without_bar(connection)
        # The first would take the bounds that a Parquet file states for bounds of all values, and NaN lies beyond any.
        # The second takes a time that grows with the square of the number of columns.
        connection.execute("SET disabled_optimizers = 'statistics_propagation,common_subexpressions'")
        yield connection


def shielded(path: Path, call: Callable[[], Result]) -> Result:
    """The result of `call`; whatever it raises becomes a `DataError` that shows no value of the file."""
    try:
        return call()
    except Exception as error:
        trouble = _explain(str(error))
    raise DataError(f"{path}: {trouble}")


def arrow_batches(relation: Any, rows: int) -> Any:
    """A reader of arrow batches of so many rows; DuckDB 2 renamed the call."""
    return (getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch)(rows)


def _explain(message: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"line {line[1]} " if line else ""
    ragged = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if ragged:
        title = "; is it a title? The names of the columns must be the first line" if ragged[1] == "1" else ""
        return f"{where}has {ragged[2]} fields where the header has {ragged[1]}{title}"
    if "not utf-8 encoded" in message:
        return f"{where or 'the file '}is not UTF-8 text; {NOT_UTF8}"
    if "unterminated quote" in message:
        return f"{where or 'the file '}has a quotation mark that is not closed or is followed by more text"
    if message.startswith("Out of Memory"):
        return "too little memory to read the file"
    if "aximum line size" in message:
        return f"{where or 'a line '}is longer than 32 MB"
    return "the file is damaged or is not of the format its name says"


def parquet_reader(path: Path) -> str:
    """The table function that reads a Parquet file."""
    return f"read_parquet({pattern(path)})"


def pattern(path: Path) -> str:
    """The name of a file as SQL literal; brackets keep DuckDB from taking *, ? and [ in it for a pattern."""
    name = re.sub(r"([*?\[])", r"[\1]", str(path.absolute())).replace("'", "''")
    return f"'{name}'"


HEAD = 8 * 2**20
DELIMITERS = ",;\t|"
MAGIC = {
    b"\x1f\x8b": "compressed with gzip; name it .csv.gz, or unpack it",
    b"PK\x03\x04": "a zip archive or a spreadsheet; unpack it, or save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it",
    b"PAR1": "Parquet; name it .parquet",
}
_JIS = (b"\x1b$B", b"\x1b$@")
"""How a header in Japanese begins that is written in seven bits."""
"""How files begin that are no CSV, and what to do with them."""


def csv_header(path: Path, encoding: str | None = None) -> tuple[tuple[str, ...], str]:
    """Column names and delimiter of a CSV."""
    head = file_head(path)
    for magic, what in MAGIC.items():
        if head.startswith(magic):
            raise DataError(f"{path}: the file is {what}")
    if head.startswith(codecs.BOM_UTF32_LE) or (b"\0" in head[:4] and not head.startswith(UTF16)):
        raise DataError(f"{path}: the file is UTF-32 text, or UTF-16 text without its mark; convert the file to UTF-8")
    if encoding is None and head.startswith(_JIS):
        raise DataError(f"{path}: the file is ISO-2022-JP text; convert it to UTF-8")
    text = _header_text(head, encoding)
    if text is None:
        raise DataError(f"{path}: the file is not UTF-8 text; {NOT_UTF8}")
    candidates = "\t" if path.suffix.lower() == ".tsv" else DELIMITERS
    headers = [(fields, mark) for mark in candidates if (fields := _first_record(text, mark))]
    if not headers:
        raise DataError(f"{path}: the first line is not a header of column names")
    fields, delimiter = max(headers, key=lambda header: len(header[0]))
    return tuple(fields), delimiter


def distinct(fields: Sequence[str]) -> tuple[str, ...]:
    """Names that tell columns apart: a second `weight` is `weight_2`, and a fifth column without a name `column_5`."""
    given, found = set(fields), dict[str, None]()
    for position, field in enumerate(fields, 1):
        name, copy = field or f"column_{position}", 1
        while name in found or (name != field and name in given):
            copy += 1
            name = f"{field or f'column_{position}'}_{copy}"
        found[name] = None
    return tuple(found)


NOT_UTF8 = (
    'say which encoding it has, `encoding = "cp932"` at the head of the schema (`schema propose` writes it there), '
    "or convert it to UTF-8"
)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if its name says that it is packed."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def file_head(path: Path) -> bytes:
    """The beginning of a text file, unpacked."""

    def read() -> bytes:
        with open_bytes(path) as stream:
            return bytes(stream.read(HEAD))

    return shielded(path, read)


def is_utf8(head: bytes, encoding: str | None) -> bool:
    """Whether a text that begins so is read as UTF-8."""
    return encoding is None and not head.startswith(UTF16)


def _header_text(head: bytes, encoding: str | None) -> str | None:
    if head.startswith(UTF16):  # it may end in the middle of a character
        return codecs.getincrementaldecoder("utf-16")("replace").decode(head)
    for text in (head, head.splitlines()[0] + b"\n"):  # bad bytes may lie in the records: DuckDB can say in which line
        with suppress(UnicodeDecodeError):
            plain = text if is_utf8(head, encoding) else b"".join(as_utf8([text], encoding))
            return codecs.getincrementaldecoder("utf-8-sig")().decode(plain)
    return None


def _first_record(text: str, delimiter: str) -> list[str] | None:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), None)
    except csv.Error:
        return None


def parquet_header(path: Path) -> tuple[tuple[str, ...], tuple[Stored, ...]]:
    """Column names of a Parquet file, and how each column is stored."""
    import pyarrow.parquet as pq

    # DuckDB renames columns that differ in case only; pyarrow tells the names as they are.
    fields = shielded(path, lambda: pq.read_schema(path))
    names = tuple(fields.names)
    if not names:
        raise DataError(f"{path}: the file has no columns")
    if len(set(names)) != len(names):
        raise DataError(f"{path}: two columns have the same name; every column needs a name of its own")
    query = f"DESCRIBE SELECT * FROM {parquet_reader(path)}"
    with connect() as connection:
        rows = shielded(path, lambda: connection.execute(query).fetchall())
    return names, tuple(_stored(str(kind), str(row[1])) for kind, row in zip(fields.types, rows, strict=True))


def _stored(arrow_type: str, sql_type: str) -> Stored:
    """What a Parquet file says of a column to pyarrow, where DuckDB forgets it."""
    if arrow_type.startswith(("timestamp[s", "timestamp[ms")):
        return "milliseconds"
    return "interval" if arrow_type.startswith("duration[") else stored_as(sql_type)


def stored_as(sql_type: str) -> Stored:
    """How a column of one of DuckDB's types is stored."""
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
    if sql_type == "INTERVAL":
        return "interval"
    if sql_type == "BLOB":
        return "binary"
    return "nested" if sql_type.endswith("]") or sql_type.startswith(("STRUCT", "MAP", "UNION", "VARIANT")) else "other"
