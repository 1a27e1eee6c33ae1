"""Small tables with a known relation, gaps and every kind of column."""

from __future__ import annotations

import pytest

from kagemusha.evaluation.tables import read_table
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Integer, Real, Schema

from .tables import make_table


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema(
        [
            Category("sex", categories=("F", "M"), out_of_domain="clip"),
            Integer("age", lower=0, upper=99),
            Real("bmi", lower=10.0, upper=60.0, bins=10, missing=True),
            Category("ward", categories=("a", "b", "c"), missing=True),
        ]
    )


@pytest.fixture(scope="session")
def real(schema: Schema) -> CodedTable:
    return read_table(make_table(1500, 1), schema)


@pytest.fixture(scope="session")
def synthetic(schema: Schema) -> CodedTable:
    return read_table(make_table(1100, 2, strength=0.5), schema)
