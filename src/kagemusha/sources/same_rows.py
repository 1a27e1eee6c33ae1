"""A digest of rows that forgets how they are written down: their order, line ends, and whether a file is CSV or Parquet.

Every cell becomes a text that stands for its value: numbers as the double nearest to them, moments as timestamps, other texts
without case and blanks at their ends; what is missing, as nothing. No schema has a say in it. A row is the MD5 of its cells in the
order of their columns' names, and rows are summed up modulo 2⁶⁴ and by exclusive or. The ledger compares it, and keeps it to itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from kagemusha.columns.stored import MOMENTS, Stored
from kagemusha.encoding.sql import DUCK
from kagemusha.identity import Identity
from kagemusha.sources.header import shielded
from kagemusha.sources.lake import RawTable, fingerprint_of


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
