"""The code of one value: the definition that every faster path is held to.

It sees one value and one declared column, and nothing else, so the code of a value cannot depend on the other rows. The
paths for whole columns (arrow and numpy, and SQL) are its twins: tests and a fuzzer hold them to it for
every container, storage type and company that a value can be found in.
"""

from __future__ import annotations

from typing import Any

from kagemusha.columns import Modelled
from kagemusha.columns.parse import TextReader
from kagemusha.columns.values import plain


def code_of(column: Modelled, value: Any, reader: TextReader) -> int:
    """The code of a raw value of a column; `reader` reads its text, if it is one."""
    return column.code_of(plain(value), reader)
