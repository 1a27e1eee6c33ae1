"""The DuckDB that reads table files, and a shield around it.

DuckDB's own messages quote the line they stumble over. None of them leaves this room: `shielded` puts a text of
ours in their place and raises it outside the handler, so that not even the exception's context holds a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kagemusha.columns.parse import without_bar
from kagemusha.errors import DataError
from kagemusha.sources.scratch import private_folder

Result = TypeVar("Result")


@contextmanager
def connect(columns: int = 0) -> Iterator[Any]:
    """A DuckDB in memory that touches nothing but the files it is told to read.

    What does not fit into its memory (half a gigabyte, and a little for each of `columns`, which a reader holds side by side)
    it writes, encrypted with a key that is only in memory, to a folder that only this user may enter, gone afterwards.
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
        # extension that opens the network. What is written lives as long as this process, or until the next one sweeps it up.
        connection.execute("SET force_mbedtls_unsafe = 'true'")
        connection.execute("SET temp_file_encryption = true")
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
