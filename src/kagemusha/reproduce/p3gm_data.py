"""The P3GM paper's data sets with declared bounds, as sources that can be fitted, and a part to test on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.errors import DataError
from kagemusha.reproduce.paper_tables import data_folder
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.sources import CodesSource

TABLES = ("adult", "isolet", "esr", "credit")
IMAGES = ("mnist", "fashion")
NAMES = (*TABLES, *IMAGES)

_LOGARITHMIC = (0, 1, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 10000, 15000, 20000, 30000, 100000)
_SIDE = 28


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows as codes behind a schema. `positive` is the code of the target that counts as 1; None for many classes."""

    name: str
    schema: Schema
    target: str
    positive: int | None
    train: Codes
    test: Codes
    note: str = ""
    """Which file it is, where that matters."""

    def source(self) -> CodesSource:
        """The rows to learn from."""
        return coded(self.schema, self.train)


def coded(schema: Schema, codes: Codes) -> CodesSource:
    """Rows of codes as a source."""
    return CodesSource(schema, codes.T)


def load(name: str, *, fold: int = 0, folds: int = 10, credit: Path | None = None) -> DataSet:
    """A data set; tables are cut into folds, of which one is kept to test on, images as they are published."""
    if name in IMAGES:
        return _images(name)
    if name == "credit":
        schema, target, positive, codes, note = _credit(credit)
    else:
        schema, target, positive, codes, note = {"adult": _adult, "isolet": _isolet, "esr": _esr}[name]()
    order = np.random.default_rng(2021).permutation(len(codes))
    kept = order[fold::folds]
    rest = np.setdiff1d(order, kept)
    return DataSet(
        name, schema, target, positive, codes[np.random.default_rng(fold).permutation(rest)], codes[kept], note
    )


def _frame(path: Path) -> Any:
    import pandas as pd

    if not path.exists():
        raise DataError(f"{path}: no such file (docs/data.md tells how to make it)")
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def _encoded(schema: Schema, frame: Any) -> IntArray:
    from kagemusha.encoding import Encoder

    columns = Encoder(schema).encode_columns(frame)
    return np.column_stack([column.astype(np.int64) for column in columns])


def _adult() -> tuple[Schema, str, int, IntArray, str]:
    frame = _frame(data_folder() / "adult.parquet").drop(columns="split").dropna().reset_index(drop=True)
    numbers = {
        "age": Integer("age", lower=17, upper=90),
        "fnlwgt": Integer("fnlwgt", lower=10_000, upper=800_000, bins=32),
        "education-num": Integer("education-num", lower=1, upper=16),
        "capital-gain": Integer("capital-gain", edges=_LOGARITHMIC),
        "capital-loss": Integer("capital-loss", lower=0, upper=4000, bins=40),
        "hours-per-week": Integer("hours-per-week", lower=1, upper=99),
    }
    columns: list[Integer | Category] = []
    for name in frame.columns:
        if name in numbers:
            columns.append(numbers[name])
        else:
            # the census bureau publishes its lists; here they are the ones the file has
            texts = tuple(sorted(frame[name].astype(str).unique()))
            columns.append(Category(name, categories=texts, out_of_domain="clip"))
    schema = Schema(columns)
    frame = frame.astype({name: str for name in frame.columns if name not in numbers})
    return schema, "income", 1, _encoded(schema, frame), ""


def bank() -> DataSet:
    """Bank, which no page on P3GM scores: settings are chosen on it."""
    frame = _frame(data_folder() / "bank_additional_full.parquet").dropna().reset_index(drop=True)
    columns: list[Real | Category] = []
    for name in frame.columns:
        if frame[name].dtype.kind in "if":
            values = frame[name].to_numpy(float)
            columns.append(Real(name, lower=float(values.min()), upper=float(values.max()), bins=64))
        else:
            frame[name] = frame[name].astype(str)
            columns.append(Category(name, categories=tuple(sorted(frame[name].unique())), out_of_domain="clip"))
    codes = _encoded(Schema(columns), frame)
    return DataSet("bank", Schema(columns), "y", 1, codes, codes[:0])


def _isolet() -> tuple[Schema, str, int, IntArray, str]:
    frame = _frame(data_folder() / "isolet.parquet")
    values = frame[[f"f{i}" for i in range(1, 618)]].to_numpy() / 10_000
    schema = Schema([*(Real(f"f{i}", lower=-1.0, upper=1.0, bins=64) for i in range(1, 618)), _binary("vowel")])
    return schema, "vowel", 1, np.column_stack([_binned(values, -1, 1, 64), frame["is_vowel"].astype(int)]), ""


def _esr() -> tuple[Schema, str, int, IntArray, str]:
    frame = _frame(data_folder() / "esr.parquet")
    values = frame[[f"X{i}" for i in range(1, 179)]].to_numpy()
    # the amplifier's range is ±2048; a tenth of it holds nearly all of the signal
    schema = Schema([*(Real(f"x{i}", lower=-600.0, upper=600.0, bins=128) for i in range(1, 179)), _binary("seizure")])
    seizure = (frame["y"] == 1).astype(int)
    return schema, "seizure", 1, np.column_stack([_binned(values, -600, 600, 128), seizure]), ""


def _credit(path: Path | None) -> tuple[Schema, str, int, IntArray, str]:
    where = path or data_folder() / "creditcard_sample.parquet"
    frame = _frame(where)
    names = [f"V{i}" for i in range(1, 29)]
    values = frame[names].to_numpy()
    amount = np.log1p(frame["Amount"].to_numpy())
    schema = Schema(
        [
            *(Real(name.lower(), lower=-15.0, upper=15.0, bins=128) for name in names),
            Real("log_amount", lower=0.0, upper=10.0, bins=64),
            _binary("fraud"),
        ]
    )
    note = f"{where.name}, {len(frame):,} rows" + ("" if len(frame) > 200_000 else ": a sample, not the paper's table")
    codes = np.column_stack(
        [_binned(values, -15, 15, 128), _binned(amount[:, None], 0, 10, 64), frame["Class"].astype(int)]
    )
    return schema, "fraud", 1, codes, note


def _images(name: str) -> DataSet:
    path = data_folder() / {"mnist": "mnist.npz", "fashion": "fashion_mnist.npz"}[name]
    if not path.exists():
        raise DataError(f"{path}: no such file (docs/data.md tells how to make it)")
    from kagemusha.schema.images import image_schema

    with np.load(path, allow_pickle=False) as file:
        parts = [(file[f"x_{part}"], file[f"y_{part}"]) for part in ("train", "test")]
    schema = image_schema(_SIDE, _SIDE, classes=10)
    train, test = (np.column_stack([x.reshape(len(x), -1), y.astype(np.uint8)]) for x, y in parts)
    return DataSet(name, schema, "label", None, train, test)


def _binary(name: str) -> Category:
    return Category(name, categories=("0", "1"), out_of_domain="clip")


def _binned(values: np.ndarray[Any, Any], low: float, high: float, bins: int) -> IntArray:
    return np.clip(np.floor((values - low) / (high - low) * bins), 0, bins - 1).astype(np.int64)
