"""The tables every benchmark runs on, as integer codes with a public domain."""

from __future__ import annotations

import numpy as np
import pandas as pd

from kagemusha.reproduce.paper_tables import ADULT, BANK, data_folder
from kagemusha.schema import Category, Integer, Schema

ADULT_NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def _codes(frame: pd.DataFrame) -> tuple[np.ndarray, list[int]]:
    columns = [pd.Categorical(frame[name].astype(str)) for name in frame]
    return np.column_stack([c.codes for c in columns]).astype(np.int64), [len(c.categories) for c in columns]


def adult() -> tuple[np.ndarray, list[int]]:
    """Adult categorical: 30,162 complete training rows, nine columns."""
    frame = pd.read_parquet(data_folder() / "adult.parquet")
    return _codes(frame[frame["split"] == "train"].dropna()[list(ADULT)])


def adult_wide() -> tuple[np.ndarray, list[int]]:
    """Adult, all fifteen columns, numeric ones in 32 equal bins."""
    frame = pd.read_parquet(data_folder() / "adult.parquet")
    frame = frame[frame["split"] == "train"].dropna()
    codes, sizes = _codes(frame[list(ADULT)])
    numeric = []
    for name in ADULT_NUMERIC:
        values = frame[name].to_numpy(float)
        edges = np.linspace(values.min(), values.max(), 33)
        numeric.append(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, 31))
    return np.column_stack([*numeric, codes]).astype(np.int64), [32] * len(numeric) + sizes


def bank() -> tuple[np.ndarray, list[int]]:
    """Bank categorical: 30,488 rows without any unknown, eleven columns."""
    frame = pd.read_parquet(data_folder() / "bank_additional_full.parquet")[list(BANK)]
    return _codes(frame[~(frame.astype(str) == "unknown").any(axis=1)])


def adult_small() -> tuple[np.ndarray, list[int]]:
    """Five small columns of Adult: marital status, relationship, race, sex, income."""
    codes, sizes = adult()
    chosen = [ADULT.index(name) for name in ("marital-status", "relationship", "race", "sex", "income")]
    return codes[:, chosen], [sizes[i] for i in chosen]


TABLES = {"adult": adult, "adult-small": adult_small, "adult-wide": adult_wide, "bank": bank}


def declared(name: str, sizes: list[int]) -> Schema:
    """Columns c0, c1, … of a table: labels, but for the bins of Adult's numbers, which have an order."""
    ordered = len(ADULT_NUMERIC) if name == "adult-wide" else 0
    return Schema(
        Integer(f"c{i}", lower=0, upper=size - 1)
        if i < ordered
        else Category(f"c{i}", categories=tuple(range(size)), out_of_domain="clip")
        for i, size in enumerate(sizes)
    )
