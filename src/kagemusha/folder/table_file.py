"""The synthetic table as a file: written whole, safe for spreadsheets if asked for, and looked at again by `verify`."""

from __future__ import annotations

import codecs
import csv
import io
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagemusha.certificate.check import Check
from kagemusha.certificate.inventory import TABLES
from kagemusha.certificate.sentences import SAFE as SAFE
from kagemusha.columns.parse import without_bar
from kagemusha.errors import OutputError
from kagemusha.files import StrangeFileError, open_regular
from kagemusha.schema import Schema

_RISKY = r"'*[=+\-@\t\r\n\x00]"
"""How a cell begins that a spreadsheet may take for a formula. Leading apostrophes belong to it: one more is added to
them, and a reader who takes one away from every such cell has the exact text again."""

_NUMBER = r"[+-]?[0-9]+([.,][0-9]+)?"
"""A cell that is a plain number is no formula, whatever sign it begins with."""

_MOST_HEADER = 1 << 22

BATCH = 122_880
"""Rows handed to the writer at a time: those of one row group of its Parquet files."""


@dataclass(frozen=True)
class Formulas:
    """Where a table may hold what a spreadsheet takes for a formula."""

    columns: Sequence[str]
    """Columns of texts that begin like a formula."""
    names: Sequence[str]
    """Column names that do."""

    def in_words(self) -> str:
        """What to tell whoever writes such a table; empty if there is nothing to tell."""
        named = list(dict.fromkeys([*self.columns, *self.names]))
        if not named:
            return ""
        some = ", ".join(map(repr, named[:3])) + (", …" if len(named) > 3 else "")
        return (
            f"column{'s' if len(named) > 1 else ''} {some}: texts or names that begin with = + - @ or a tab, which a "
            "spreadsheet may run as formulas; --spreadsheet-safe writes them with an apostrophe before them"
        )


def find_formulas(schema: Schema) -> Formulas:
    """Where a table of this schema may hold them.

    In labels that are texts, in made-up identifiers, in formats of dates.
    """
    columns = [c.name for c in schema if any(map(_is_formula, c.beginnings))]
    return Formulas(columns, [c.name for c in schema if c.in_doubles and _is_formula(c.name)])


def spreadsheet_safe(table: Any) -> Any:
    """The same table with an apostrophe before every text, and column name, that begins like a formula."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name in table.column_names:
        texts = _texts(table, name)
        if texts is None:
            columns.append(table[name])
            continue
        columns.append(pc.if_else(_risky(texts), pc.binary_join_element_wise("'", texts, ""), texts))
    return pa.table(columns, names=[escaped(name) for name in table.column_names])


def _texts(table: Any, name: str) -> Any:
    """A column if it holds texts."""
    import pyarrow as pa

    column = table[name]
    return column if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else None


def _risky(texts: Any) -> Any:
    """For each text, whether it begins like a formula and is no plain number."""
    import pyarrow.compute as pc

    begins = pc.match_substring_regex(texts, rf"\A{_RISKY}")
    return pc.and_(begins, pc.invert(pc.match_substring_regex(texts, rf"\A{_NUMBER}\z")))


def _is_formula(text: str) -> bool:
    return re.match(_RISKY, text) is not None and re.fullmatch(_NUMBER, text) is None


def escaped(text: str) -> str:
    """A text as it is written for spreadsheets."""
    return f"'{text}" if _is_formula(text) else text


def write_table(table: Any, path: Path) -> None:
    """Write an arrow table as CSV or Parquet, by the file's ending; whole or not at all."""
    write_tables(iter([table]), path)


def write_tables(tables: Iterator[Any], path: Path, *, safe: bool = False, marked: bool = False) -> int:
    """Write arrow tables of one schema as one file, each as it comes, and say how many rows they had.

    The file is complete or absent. With `safe`, what a spreadsheet would take for a formula is escaped. A `marked` CSV
    begins with the mark of UTF-8: its schema declares another encoding, in which it would be read without.
    """
    import duckdb
    import pyarrow as pa

    form = "FORMAT parquet" if path.suffix.lower() == ".parquet" else "FORMAT csv, HEADER true"
    part = path.with_name(path.name + ".part")
    feed = _Feed(tables, safe)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if "parquet" in form and any(map(pa.types.is_duration, feed.schema.types)):
            _by_arrow(feed, part)  # DuckDB writes no duration that others read
        else:
            with duckdb.connect(config={"memory_limit": "512MB", "threads": "1"}) as connection:
                without_bar(connection)
                connection.execute("SET TimeZone = 'UTC'")  # moments of a zone are written with it
                connection.register("doubles", pa.RecordBatchReader.from_batches(feed.schema, feed))
                # DuckDB quotes only what needs it, as most spreadsheets and the original files do
                connection.execute(f"COPY doubles TO '{str(part).replace(chr(39), chr(39) * 2)}' ({form})")
        if feed.error is not None:
            raise feed.error
        if marked and "csv" in form:
            _mark(part)
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if feed.error is not None:  # what went wrong while drawing, not what DuckDB made of it
            raise feed.error from None
        if not isinstance(error, duckdb.Error | OSError):
            raise
        reason = "no space left or not writable" if isinstance(error, duckdb.Error) else error.strerror
        raise OutputError(f"{path}: could not be written ({reason})") from None
    return feed.rows


def _mark(path: Path) -> None:
    whole = path.with_name(f"{path.name}.marked")
    try:
        with path.open("rb") as text, whole.open("wb") as out:
            out.write(codecs.BOM_UTF8)
            shutil.copyfileobj(text, out)
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)


def _by_arrow(feed: _Feed, path: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, feed.schema) as writer:
        for batch in feed:
            writer.write_batch(batch)


class _Feed:
    """Batches of tables as a writer asks for them."""

    def __init__(self, tables: Iterator[Any], safe: bool) -> None:
        self._tables, self._safe = tables, safe
        self._first = self._next()
        self.schema = self._first.schema
        self.rows = 0
        self.error: BaseException | None = None

    def _next(self) -> Any:
        table = next(self._tables)
        return spreadsheet_safe(table) if self._safe else table

    def __iter__(self) -> Iterator[Any]:
        try:
            table, self._first = self._first, None
            while True:
                self.rows += table.num_rows
                yield from table.to_batches(max_chunksize=BATCH)
                table = self._next()
        except StopIteration:
            return
        except GeneratorExit:
            raise
        except BaseException as error:
            # ends as if there were no more: DuckDB can wait for ever for a task that ended in an error
            self.error = error


def table_check(path: Path, schema: Schema) -> Check:
    """A released table has the columns of its schema, in their order, and none that is dropped."""
    expected = [column.name for column in schema.table_columns if column.in_doubles]
    try:
        found = _header(path)
    except (StrangeFileError, OSError, ValueError, csv.Error) as error:
        return Check("columns of the table", False, f"cannot be read ({type(error).__name__})")
    same = found in (expected, [escaped(name) for name in expected])
    return Check("columns of the table", same, "are those of the schema" if same else "are not those of the schema")


def released_columns(folder: Path) -> list[str]:
    """The columns of the table in a release folder, by its header."""
    return next((_header(folder / name) for name in TABLES if (folder / name).is_file()), [])


def _header(path: Path) -> list[str]:
    with open_regular(path) as file:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return list(pq.ParquetFile(file).schema_arrow.names)
        text = file.read(_MOST_HEADER).decode("utf-8-sig", "replace")
    return next(csv.reader(io.StringIO(text, newline="")), [])
