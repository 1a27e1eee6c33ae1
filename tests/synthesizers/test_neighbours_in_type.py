"""Neighbours whose frames differ in type or have no row at all: the same release, with output of the same types."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Date, Integer, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import names
from small import small

BIG = 2**53
SCHEMA = Schema(
    [
        Category("id", categories=(BIG + 3, BIG + 9), missing=True),
        Integer("age", lower=0, upper=99, bins=4, missing=True),
        Date("seen", lower="1950-01-01", upper="2029-12-31", bins=8),
    ]
)


def frame(rows: int, *more: tuple[Any, Any, Any], library: str = "pandas") -> Any:
    usual = [(BIG + 3 if i % 2 else BIG + 9, 20 + i % 60, datetime(2020, 1, 5)) for i in range(rows)]
    columns = dict(zip(SCHEMA.names, map(list, zip(*usual, *more, strict=True)), strict=True)) if rows or more else {}
    columns = columns or {name: [] for name in SCHEMA.names}
    if library == "polars":
        return pl.DataFrame(columns, strict=False)
    return pd.DataFrame(columns)


def release(table: Any, name: str = "independent") -> Any:
    return fit(small(name), table, Budget(1.0, 1e-6), schema=SCHEMA, simulation=0)


ODD = [(None, None, datetime(2020, 1, 5)), (BIG + 3, 1.5, datetime(9999, 1, 1)), (1, 300, datetime(1, 1, 1))]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("record", ODD, ids=str)
def test_types_of_the_output_and_released_counts_hang_on_no_record(record, library):
    one, other = (release(frame(400, *more, library=library)) for more in ((), (record,)))
    tables = [model.sample(50, rng=np.random.default_rng(0)) for model in (one, other)]
    assert type(tables[0]) is type(tables[1])
    assert list(tables[0].dtypes) == list(tables[1].dtypes)
    # With the same simulated noise, what one record moves is what was measured.
    for a, b in zip(one.measurements, other.measurements, strict=True):
        assert np.abs(a.values - b.values).sum() <= 1


@pytest.mark.parametrize("name", names())
def test_no_row_and_one_row_are_neighbours(name, tmp_path):
    tables = {"none": frame(0), "one": frame(1), "file": tmp_path / "t.csv"}
    tables["file"].write_text("id,age,seen\n")
    models = {what: release(table, name) for what, table in tables.items()}
    shapes = {
        what: [str(kind) for kind in model.sample(5, rng=np.random.default_rng(0), like="pandas").dtypes]
        for what, model in models.items()
    }
    assert shapes["none"] == shapes["one"] == shapes["file"]
    assert all(model.rows >= 1 for model in models.values())
    if not small(name).adaptive:
        assert models["none"].certificate.events == models["one"].certificate.events


@pytest.mark.parametrize("name", names())
def test_an_empty_table_is_released_where_its_size_is_public(name):
    budget = Budget(1.0, 1e-6, adjacency="replace")
    if budget.adjacency not in small(name).relations or name == "p3gm-wishart":
        with pytest.raises(UsageError, match="add-remove"):
            fit(small(name), frame(0), budget, schema=SCHEMA, simulation=0)
        return
    model = fit(small(name), frame(0), budget, schema=SCHEMA, simulation=0)
    # doubles of nobody: one, unless the number of rows was declared and paid for
    assert len(model.sample(rng=np.random.default_rng(0))) == (small(name).rows if name == "gaussian-rows" else 1)
