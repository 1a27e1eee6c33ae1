"""Tables in files of other programs: spreadsheets (Excel, OpenDocument), Stata, SPSS and SAS.

Each cell becomes a text by itself alone, as a CSV would hold it: whole in memory, for none of these formats can be read
column by column. A value that the file's own dictionary gives a label is that label.

A process of its own reads the file, within bounded memory: one cell in the far corner of a sheet makes the library ask
for half a terabyte, and then it ends its process rather than say so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.columns.stored import Stored
from kagemusha.columns.values import label_text, plain
from kagemusha.errors import DataError
from kagemusha.extras import need
from kagemusha.sources.header import connect, distinct, shielded
from kagemusha.sources.rawfile import RawFile

SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")

MEMORY = 4 << 30
"""Bytes that reading any file may take; a larger one 64 times its size besides."""

KEEP_MISSING = (".dta", ".sav", ".zsav", ".sas7bdat")
"""Formats in which "refused" and "not asked" are different; they stay values of their own."""


@dataclass(frozen=True)
class DocumentFile(RawFile):
    """A table of another program's file, held as texts."""

    table: Any = None

    @contextmanager
    def reading(self) -> Iterator[tuple[Any, str]]:
        """A DuckDB, and the FROM clause that reads the table in it."""
        self.check_unchanged()
        columns = ", ".join(f"c{i}" for i in range(len(self.names)))
        with connect(len(self.names)) as connection:
            connection.register("document", self.table)
            yield connection, f"document AS raw({columns})"

    def check_count(self, rows: int) -> None:
        """Raise `DataError` if a pass did not give every row."""
        if rows != self.table.num_rows:
            raise DataError(f"{self.path}: {rows} rows were read of {self.table.num_rows}")


def open_document(path: Path, stamp: tuple[int, int]) -> DocumentFile:
    """Read a file of another program."""
    import pyarrow as pa

    need("python_calamine", "files") if path.suffix.lower() in SHEETS else need("pyreadstat", "files")
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # what a library says of a damaged file may quote it
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        check=False,
    )
    if done.returncode:
        raise DataError(
            f"{path}: the file is damaged or is not of the format its name says, or it unpacks to more than "
            f"{_memory(path) >> 30} GB; save it as CSV or Parquet"
        )
    table = pa.ipc.open_stream(done.stdout).read_all()
    names, labels = json.loads(table.schema.metadata[b"about"])
    if not names:
        raise DataError(f"{path}: the file has no columns")
    stored: tuple[Stored, ...] = tuple("text" for _ in names)
    labels = {name: tuple(found) for name, found in labels.items()}
    return DocumentFile(path, "csv", distinct(names), stored, ",", stamp, table=table, labels=labels)


def _memory(path: Path) -> int:
    """Bytes that reading a file may take."""
    return MEMORY + 64 * path.stat().st_size


def hand_over(path: Path) -> None:
    """Read a file of another program and write what it holds to the output stream, in Arrow's form."""
    import pyarrow as pa

    if sys.platform == "linux":  # other systems bound no process by its memory
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_memory(path), _memory(path)))
    read = _sheet if path.suffix.lower() in SHEETS else _study
    names, columns, labels = read(path)
    about = json.dumps([list(names), dict(labels)]).encode()
    table = pa.table({f"c{at}": column for at, column in enumerate(columns)})
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema.with_metadata({"about": about})) as stream:
        stream.write_table(table)


Found = tuple[Sequence[str], list[Any], Mapping[str, tuple[str, ...]]]


def _sheet(path: Path) -> Found:
    """The sheet of a workbook that is its table; the first row that holds anything names the columns.

    What stands under no name belongs to no column: a stray cell of one row gives no other row another column.
    """
    book = need("python_calamine", "files").CalamineWorkbook.from_path(str(path))
    used = _tabular(book)
    if used is None:
        return (), [], {}
    rows = iter(book.get_sheet_by_name(used).to_python())
    header = next(row for row in rows if any(cell != "" for cell in row))
    named = [(at, text) for at, cell in enumerate(header) if (text := cell_text(cell))]
    cells = ([row[at] for at, _ in named] for row in rows)
    kept = [row for row in cells if any(cell != "" for cell in row)]
    return [text for _, text in named], [_texts([row[at] for row in kept]) for at in range(len(named))], {}


def sheets(path: Path) -> tuple[str | None, list[str]]:
    """The sheet that is read, and the others that hold anything."""
    book = need("python_calamine", "files").CalamineWorkbook.from_path(str(path))
    used = shielded(path, lambda: _tabular(book))
    return used, [name for name in book.sheet_names if name != used and _first_row(book, name)]


def _tabular(book: Any) -> str | None:
    """The first sheet whose first row names several columns, else the first that holds any: no record decides."""
    headers = {name: row for name in book.sheet_names if (row := _first_row(book, name))}
    return next(
        (name for name, row in headers.items() if sum(cell != "" for cell in row) > 1), next(iter(headers), None)
    )


def _first_row(book: Any, name: str) -> list[Any]:
    rows = book.get_sheet_by_name(name).to_python()
    return next((list(row) for row in rows if any(cell != "" for cell in row)), [])


def _study(path: Path) -> Found:
    """The table of a statistics program, with the labels of its dictionary."""
    library, suffix = need("pyreadstat", "files"), path.suffix.lower()
    readers = {
        ".dta": library.read_dta,
        ".sav": library.read_sav,
        ".zsav": library.read_sav,
        ".por": library.read_por,
        ".sas7bdat": library.read_sas7bdat,
        ".xpt": library.read_xport,
    }
    kept = {"user_missing": True} if suffix in KEEP_MISSING else {}
    cells, about = readers[suffix](str(path), output_format="dict", **kept)
    labels = {name: dict(about.variable_value_labels[name]) for name in about.variable_value_labels}
    names = list(about.column_names)
    columns = [_texts(cells[name], labels.get(name, {})) for name in names]
    return names, columns, {name: tuple(map(str, found.values())) for name, found in labels.items() if found}


def _texts(values: Sequence[Any], labels: Mapping[Any, str] | None = None) -> Any:
    """An arrow array of the texts of cells; equal cells are read once."""
    import pyarrow as pa

    known: dict[tuple[type, Any], str | None] = {}
    found: list[str | None] = []
    for value in values:
        if value is None or value != value:  # a gap, as these libraries write one
            found.append(None)
            continue
        key = (type(value), value)
        if key not in known:
            known[key] = (labels or {}).get(value) or cell_text(value)
        found.append(known[key])
    return pa.array(found, type=pa.string())


def cell_text(value: Any) -> str | None:
    """The text of a cell as a CSV would hold it; None if there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else label_text(plain(value))


if __name__ == "__main__":
    hand_over(Path(sys.argv[1]))
