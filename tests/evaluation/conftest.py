"""Small tables with a known relation, gaps and every kind of column."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.evaluation import CodedTable, open_table
from kagemusha.schema import Category, Integer, Real, Schema


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


def make_table(rows: int, seed: int, strength: float = 0.8):  # type: ignore[no-untyped-def]
    import pandas as pd

    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    age = np.clip(rng.normal(50, 18, rows), 0, 99).astype(int)
    bmi = np.clip(20 + 0.1 * age + rng.normal(0, 4, rows), 10, 60)
    bmi = np.where(rng.random(rows) < np.where(age > 60, 0.3, 0.02), np.nan, bmi)
    related = np.where(sex == "F", "a", "b")
    ward = np.where(rng.random(rows) < strength, related, rng.choice(["a", "b", "c"], rows))
    frame = pd.DataFrame({"sex": sex, "age": age, "bmi": bmi, "ward": ward})
    frame.loc[rng.random(rows) < 0.05, "ward"] = None
    return frame


@pytest.fixture(scope="session")
def real(schema: Schema) -> CodedTable:
    return open_table(make_table(1500, 1), schema)


@pytest.fixture(scope="session")
def synthetic(schema: Schema) -> CodedTable:
    return open_table(make_table(1100, 2, strength=0.5), schema)
