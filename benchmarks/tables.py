"""The tables every benchmark runs on, as integer codes with a public domain."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

ADULT = [
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
    "income",
]
ADULT_NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
BANK = [
    "job",
    "marital",
    "education",
    "default",
    "housing",
    "loan",
    "contact",
    "month",
    "day_of_week",
    "poutcome",
    "y",
]


def _folder() -> Path:
    where = os.environ.get("KAGEMUSHA_DATA")
    if not where:
        raise SystemExit("set KAGEMUSHA_DATA to the folder with the real data sets (docs/data.md)")
    return Path(where)


def _codes(frame: pd.DataFrame) -> tuple[np.ndarray, list[int]]:
    columns = [pd.Categorical(frame[name].astype(str)) for name in frame]
    return np.column_stack([c.codes for c in columns]).astype(np.int64), [len(c.categories) for c in columns]


def adult() -> tuple[np.ndarray, list[int]]:
    """Adult categorical: 30,162 complete training rows, nine columns."""
    frame = pd.read_parquet(_folder() / "adult.parquet")
    return _codes(frame[frame["split"] == "train"].dropna()[ADULT])


def adult_wide() -> tuple[np.ndarray, list[int]]:
    """Adult, all fifteen columns, numeric ones in 32 equal bins."""
    frame = pd.read_parquet(_folder() / "adult.parquet")
    frame = frame[frame["split"] == "train"].dropna()
    codes, sizes = _codes(frame[ADULT])
    numeric = []
    for name in ADULT_NUMERIC:
        values = frame[name].to_numpy(float)
        edges = np.linspace(values.min(), values.max(), 33)
        numeric.append(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, 31))
    return np.column_stack([*numeric, codes]).astype(np.int64), [32] * len(numeric) + sizes


def bank() -> tuple[np.ndarray, list[int]]:
    """Bank categorical: 30,488 rows without any unknown, eleven columns."""
    frame = pd.read_parquet(_folder() / "bank_additional_full.parquet")[BANK]
    return _codes(frame[~(frame.astype(str) == "unknown").any(axis=1)])


def adult_small() -> tuple[np.ndarray, list[int]]:
    """Five small columns of Adult: marital status, relationship, race, sex, income."""
    codes, sizes = adult()
    chosen = [ADULT.index(name) for name in ("marital-status", "relationship", "race", "sex", "income")]
    return codes[:, chosen], [sizes[i] for i in chosen]


TABLES = {"adult": adult, "adult-small": adult_small, "adult-wide": adult_wide, "bank": bank}
