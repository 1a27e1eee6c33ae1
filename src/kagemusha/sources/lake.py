"""Files that are one table together (`folder/*.parquet`), tables of a DuckDB file, and how to know them again.

The digest of rows forgets how they are written down: their order, line ends, and whether a file is CSV or Parquet.
Every cell becomes a text that stands for its value: numbers as the double nearest to them, moments as timestamps, other
texts without case and blanks at their ends; what is missing, as nothing. No schema has a say in it. A row is the MD5 of
its cells in the order of their columns' names, and rows are summed up modulo 2⁶⁴ and by exclusive or. The ledger
compares it, and keeps it to itself.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

from kagemusha.columns.dialect import DUCK
from kagemusha.columns.parse import quote
from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.errors import DataError, UsageError
from kagemusha.files import database_file
from kagemusha.identity import Identity
from kagemusha.sources.header import connect, shielded, stored_as
from kagemusha.sources.rawfile import file_stamp, open_file

MOST_FILES = 100_000


class RawTable(Protocol):
    """What DuckDB reads as one table, whose columns are c0, c1, … in what `reading` gives."""

    @property
    def path(self) -> Path:
        """The file it lies in."""
        ...

    @property
    def kind(self) -> Literal["csv", "parquet"]:
        """The kind of file to write back."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        ...

    @property
    def stored(self) -> tuple[Stored, ...]:
        """How each of them is stored."""
        ...

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, str]]:
        """A DuckDB, and the FROM clause that reads the table in it."""
        ...

    def source(self, position: int) -> str:
        """The SQL expression of one column in what `reading` gives."""
        ...

    def check_count(self, rows: int) -> None:
        """Raise `DataError` if a pass did not give as many rows as there must be."""
        ...

    def fingerprint(self) -> str:
        """A digest that changes when the table does; private."""
        ...


def is_pattern(path: str | PathLike[str]) -> bool:
    """Whether a path means several files; a file that has such a name itself is that file."""
    return glob.has_magic(str(path)) and not Path(path).exists()


def open_files(path: str | PathLike[str], encoding: str | None = None) -> list[RawTable]:
    """The table files a path means, in the order of their names."""
    if not is_pattern(path):
        return [open_file(path, encoding)]
    found = sorted(glob.glob(str(path), recursive=True))
    if not found:
        raise DataError(f"{path}: no file has such a name")
    if len(found) > MOST_FILES:
        raise DataError(f"{path}: {len(found):,} files have such a name, more than {MOST_FILES:,}")
    files: list[RawTable] = [open_file(one, encoding) for one in found]
    for other in files[1:]:
        if set(other.names) != set(files[0].names):
            raise DataError(f"{path}: {other.path} has other columns than {files[0].path}; together they are no table")
    return files


def full_name(given: str | PathLike[str] | RawTable) -> str:
    """What a table is known by everywhere: the full path of its file or pattern.

    Inside a database with its own name.
    """
    if isinstance(given, str | PathLike):
        return str(Path(given).absolute() if is_pattern(given) else Path(given).resolve())
    place = ".".join(getattr(given, "place", ()))
    return f"{given.path.resolve()}#{place}" if place else str(given.path.resolve())


def fingerprint_of(files: Sequence[RawTable]) -> str:
    """One digest for all files; private."""
    digests = [file.fingerprint() for file in files]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


@dataclass(frozen=True)
class DuckTable:
    """A table or view of a DuckDB database file, which is opened to be read only."""

    path: Path
    place: tuple[str, str]
    names: tuple[str, ...]
    stored: tuple[Stored, ...]
    stamp: tuple[int, int]
    kind: Literal["csv", "parquet"] = "parquet"

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, str]]:
        """A DuckDB with the database attached."""
        if file_stamp(self.path) != self.stamp:
            raise DataError(f"{self.path}: the database changed while it was being read; open it again")
        with connect(len(self.names)) as connection:
            shielded(self.path, lambda: _attach(connection, self.path))
            columns = ", ".join(f"c{i}" for i in range(len(self.names)))
            yield connection, f"data.{_name(self.place[0])}.{_name(self.place[1])} AS raw({columns})"

    def source(self, position: int) -> str:
        """The column itself; texts by their letters, whatever collation the database compares them in.

        Grouped without case, one record would decide which spelling of a label is found.
        """
        plain = f"raw.c{position}"
        return f'CAST({plain} AS VARCHAR) COLLATE "binary"' if self.stored[position] == "text" else plain

    def check_count(self, rows: int) -> None:
        """A database knows its rows."""

    def fingerprint(self) -> str:
        """Sums of hashes of all rows: the file changes with other tables, too."""
        columns = ", ".join(f"raw.c{i}" for i in range(len(self.names)))
        with self.reading() as (connection, scan):
            query = f"SELECT count(*), sum(hash({columns})), bit_xor(hash({columns})) FROM {scan}"
            found = shielded(self.path, lambda: connection.execute(query).fetchone())
        return hashlib.sha256(repr((self.names, found)).encode()).hexdigest()


def open_duckdb(url: str, table: str | None) -> DuckTable:
    """The table of `duckdb:///path/to/file.db` (three strokes: from here; four: from the root)."""
    path = database_file(url)
    stamp = file_stamp(path)
    query = (
        "SELECT schema_name, table_name FROM (SELECT * FROM duckdb_tables() UNION ALL BY NAME SELECT *, view_name "
        "AS table_name FROM duckdb_views()) WHERE database_name = 'data' AND NOT internal ORDER BY schema_name != "
        "'main', 1, 2"
    )
    with connect() as connection:
        shielded(path, lambda: _attach(connection, path))
        known = shielded(path, lambda: connection.execute(query).fetchall())
        shown = ", ".join(f"{schema}.{name}" for schema, name in known[:8]) + (", …" if len(known) > 8 else "")
        if table is None:
            raise UsageError(f"{path}: say which table is meant, with table=… (--table …); there are {shown or 'none'}")
        found = [(s, n) for s, n in known if table in (n, f"{s}.{n}")]
        if not found:
            raise DataError(f"{path}: there is no table {table!r}; there are {shown or 'none'}")
        place = (str(found[0][0]), str(found[0][1]))
        described = f"DESCRIBE SELECT * FROM data.{_name(place[0])}.{_name(place[1])}"
        rows = shielded(path, lambda: connection.execute(described).fetchall())
    return DuckTable(path, place, tuple(str(r[0]) for r in rows), tuple(stored_as(str(r[1])) for r in rows), stamp)


def schemas_in(path: Path) -> set[str]:
    """The schemas of a DuckDB file."""
    query = "SELECT schema_name FROM duckdb_schemas() WHERE database_name = 'data'"
    with connect() as connection:
        shielded(path, lambda: _attach(connection, path))
        return {str(name) for (name,) in shielded(path, lambda: connection.execute(query).fetchall())}


def in_database(path: Path, schema: str) -> tuple[list[str], list[tuple[str, str, str, str]]]:
    """Tables and views of one schema of a DuckDB file, and its foreign keys of one column each."""
    spelt = quote(schema)
    tables = (
        "SELECT table_name FROM (SELECT * FROM duckdb_tables() UNION ALL BY NAME SELECT *, view_name AS table_name "
        f"FROM duckdb_views()) WHERE database_name = 'data' AND NOT internal AND schema_name = {spelt} ORDER BY 1"
    )
    keys = (
        "SELECT table_name, constraint_column_names[1], referenced_table, referenced_column_names[1] FROM "
        "duckdb_constraints() WHERE database_name = 'data' AND constraint_type = 'FOREIGN KEY' AND "
        f"len(constraint_column_names) = 1 AND schema_name = {spelt} ORDER BY 1, 2"
    )
    with connect() as connection:
        shielded(path, lambda: _attach(connection, path))
        names = shielded(path, lambda: connection.execute(tables).fetchall())
        links = shielded(path, lambda: connection.execute(keys).fetchall())
    return [str(name) for (name,) in names], [(str(a), str(b), str(c), str(d)) for a, b, c, d in links]


def _attach(connection: Any, path: Path) -> None:
    connection.execute(f"ATTACH {quote(str(path.absolute()))} AS data (READ_ONLY)")


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def identity_of(files: Sequence[RawTable]) -> Identity:
    """By what a ledger knows files again: their bytes, and the rows in them."""
    return Identity(fingerprint_of(files), (same_rows(files),))


def same_rows(files: Sequence[RawTable]) -> str:
    """The digest of all rows of all files, in one pass over each."""
    rows, total, parity = 0, 0, 0
    for file in files:
        order = sorted(range(len(file.names)), key=lambda at: file.names[at])
        cells = ", ".join(_text_of(file.stored[at], file.source(at)) for at in order)
        row = f"md5_number_lower(concat_ws(chr(31), {cells}))"
        with file.reading() as (connection, scan):
            query = (
                f"SELECT count(*), coalesce(sum(r), 0), coalesce(bit_xor(r), 0) FROM (SELECT {row} AS r FROM {scan})"
            )
            found = _one_row(file, connection, query)
        rows, total, parity = rows + int(found[0]), (total + int(found[1])) % 2**64, parity ^ int(found[2])
    return hashlib.sha256(repr((sorted(files[0].names), rows, total, parity)).encode()).hexdigest()


def _one_row(file: RawTable, connection: Any, query: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] = shielded(file.path, lambda: connection.execute(query).fetchone())
    return found


def _text_of(stored: Stored, source: str) -> str:
    """The text that stands for a cell; never NULL, for `concat_ws` would leave that out."""
    if stored in MOMENTS:
        return f"coalesce(CAST(TRY(make_timestamp({DUCK.raw(source, stored)})) AS VARCHAR), '')"
    text = f"CAST({source} AS VARCHAR)"
    moment = f"CAST(TRY_CAST({text} AS TIMESTAMP) AS VARCHAR)"
    number = f"nullif(CAST(TRY_CAST({text} AS DOUBLE) AS VARCHAR), 'nan')"
    return f"coalesce({number}, {moment}, lower(trim({text})), '')"
