"""Tables as they were read, linked by their keys: whose each row is, and in which order a parent's rows come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.columns.arrow import plain_values
from kagemusha.columns.bins import to_codes
from kagemusha.columns.cells import Cells
from kagemusha.columns.values import Plain
from kagemusha.errors import DataError
from kagemusha.schema import Integer, Measured
from kagemusha.schema.related import Table
from kagemusha.sources.bounding import LARGEST, Persons


@dataclass(frozen=True, eq=False)
class Keys:
    """A column of identifiers: the values there are, and which of them each row has."""

    values: Sequence[Plain]
    at: IntArray

    @classmethod
    def of(cls, values: Any) -> Keys:
        """From plain values, or an arrow array of which each distinct value is looked at once."""
        if isinstance(values, list):
            places: dict[Plain, int] = {}
            at = np.fromiter((places.setdefault(value, len(places)) for value in values), np.int64, len(values))
            return cls(list(places), at)
        import pyarrow as pa

        whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        whole = whole.cast(whole.type.value_type) if pa.types.is_dictionary(whole.type) else whole
        whole = whole.dictionary_encode("encode")  # one that came along may have gaps, and values of no row
        return cls(_plain(whole.dictionary), whole.indices.to_numpy(zero_copy_only=False).astype(np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Keys]) -> Keys:
        """Some rows after others."""
        starts = np.cumsum([0, *(len(part.values) for part in parts)])
        at = [part.at + start for part, start in zip(parts, starts[:-1], strict=True)]
        return cls([value for part in parts for value in part.values], np.concatenate(at))

    def numbers(self, known: Persons) -> IntArray:
        """The number of each row's identifier; −1 for none."""
        return known.number(self.values)[self.at]

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, rows: IntArray) -> Keys:
        return Keys(self.values, self.at[rows])


def _plain(values: Any) -> Sequence[Plain]:
    """The plain form of each value; of whole numbers that floats hold, without a look at each."""
    import pyarrow as pa

    if pa.types.is_integer(values.type) and not values.null_count and len(values):
        numbers = values.to_numpy(zero_copy_only=False)
        if max(abs(int(numbers.min())), abs(int(numbers.max()))) < LARGEST:
            found: list[Plain] = numbers.astype(np.float64).tolist()
            return found
    return plain_values(values)


@dataclass(frozen=True, eq=False)
class ReadTable:
    """One table as it was read: codes of its own columns, keys, places on the order's axis."""

    columns: Sequence[Codes]
    key: Keys
    id: Keys | None
    order: FloatArray | None

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.key)


def joined_parts(parts: Sequence[ReadTable]) -> ReadTable:
    """One table of several parts."""
    if len(parts) == 1:
        return parts[0]
    orders = [part.order for part in parts if part.order is not None]
    return ReadTable(
        [np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)],
        Keys.joined([part.key for part in parts]),
        None if parts[0].id is None else Keys.joined([part.id for part in parts if part.id is not None]),
        np.concatenate(orders) if orders else None,
    )


def places_of(axis: Measured, cells: Cells) -> FloatArray:
    """Places on the axis of the order column; what cannot be read counts as the lowest, as everywhere."""
    places: FloatArray = np.clip(np.where(cells.codes < 0, cells.numbers, axis.low), axis.low, axis.high)
    return places


@dataclass(frozen=True, eq=False)
class Linked:
    """The rows of a table whose parent is there."""

    columns: Sequence[Codes]
    parent: IntArray
    """The row of the parent table; of a person, itself."""
    order: FloatArray | None
    names: Mapping[str, int]
    """The row that an identifier names, where tables below belong to rows."""

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.parent)

    def in_order(self, contents_of: Sequence[Codes]) -> IntArray:
        """Rows parent by parent, each parent's by the order column and then by all that is counted of a row itself.

        That is mixed: where no column has an order, rows come as good as shuffled.
        """
        contents = mixed(contents_of, self.rows)
        by = (contents, self.parent) if self.order is None else (contents, self.order, self.parent)
        return np.lexsort(by)


def starts_of(parents: IntArray) -> NDArray[np.bool_]:
    """Which of rows that come parent by parent are the first of theirs."""
    return np.append(True, parents[1:] != parents[:-1]) if len(parents) else np.zeros(0, dtype=np.bool_)


def coded(column: Integer, numbers: IntArray) -> Codes:
    """Codes of whole numbers."""
    return to_codes(column, numbers, np.zeros(len(numbers), dtype=np.bool_))


def mixed(columns: Sequence[Codes], rows: int) -> IntArray:
    """A number of 64 bits per row that follows from the row's codes alone, as good as random."""
    found = np.full(rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            found = (found ^ column.astype(np.uint64)) * np.uint64(0xFF51AFD7ED558CCD)
            found = (found ^ (found >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
            found ^= found >> np.uint64(29)
    return found.view(np.int64)


def link(table: Table, read: ReadTable, parent: Linked | None, *, needs_names: bool) -> Linked:
    """The rows of a table that belong to somebody; `DataError` where identifiers are not each one row's."""
    known = Persons()
    keys = read.key.numbers(known)
    if parent is None:
        keep = keys >= 0
        _require_once(table, table.key, keys[keep])
        place = {known.names[number]: row for row, number in enumerate(keys[keep].tolist())}
        columns = [column[keep] for column in read.columns]
        return Linked(columns, np.arange(int(keep.sum())), None, place)
    rows = np.array([parent.names.get(name, -1) for name in known.names] + [-1], dtype=np.int64)[keys]
    keep = rows >= 0
    lost = int((~keep).sum())
    if lost and table.orphans != "drop":
        raise DataError(
            f"{table.name}: {lost:,} rows name no row of {table.parent} in {table.key!r}. To leave such rows out, say "
            'orphans = "drop" for this table; nothing was spent'
        )
    names: dict[str, int] = {}
    if needs_names:
        assert read.id is not None
        own = Persons()
        numbers = read.id.numbers(own)[keep]
        _require_once(table, table.id or "", numbers[numbers >= 0])
        names = {own.names[number]: at for at, number in enumerate(numbers.tolist()) if number >= 0}
    order = None if read.order is None else read.order[keep]
    return Linked([column[keep] for column in read.columns], rows[keep], order, names)


def _require_once(table: Table, column: str, numbers: IntArray) -> None:
    twice = len(numbers) - len(np.unique(numbers))
    if twice:
        raise DataError(
            f"{table.name}: {twice:,} rows have an identifier in {column!r} that another row has, too; each row needs "
            "its own. Nothing was spent"
        )
