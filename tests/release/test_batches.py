"""Sums over records are the same in batches of any size, and no batch is the table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from kagemusha.arrays import Codes
from kagemusha.queries.query import ReadsRecords
from kagemusha.release.curator import sum_over
from kagemusha.schema import Integer, Schema
from kagemusha.sources import CodesSource

SCHEMA = Schema([Integer("a", lower=0, upper=9), Integer("b", lower=0, upper=9)])


class Products(ReadsRecords):
    """Σ (a, b, ab), and how many rows it saw at a time."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def total(self, columns: list[Codes]) -> np.ndarray:
        self.seen.append(len(columns[0]))
        a, b = (c.astype(np.int64) for c in columns)
        return np.array([a.sum(), b.sum(), (a * b).sum()])


class Chunked(CodesSource):
    def __init__(self, size: int, columns: list[Codes]) -> None:
        super().__init__(SCHEMA, columns)
        self._size = size

    def batches(self) -> Iterator[list[Codes]]:
        columns, _ = self.records()
        for begin in range(0, len(columns[0]), self._size):
            yield [c[begin : begin + self._size] for c in columns]

    def records(self):
        return super().records()


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_the_sum_is_that_of_the_whole(size: int) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 10, 250).astype(np.uint8) for _ in range(2)]
    query = Products()
    found = sum_over(Chunked(size, columns), query)
    assert found.tolist() == Products().total(columns).tolist()
    assert max(query.seen) <= size


def test_no_rows_sum_to_nothing() -> None:
    empty = [np.empty(0, dtype=np.uint8)] * 2
    assert sum_over(Chunked(5, empty), Products()).tolist() == [0, 0, 0]
