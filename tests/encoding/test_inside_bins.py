"""Values inside a bin follow a density that leads on to the neighbours'; bins keep their counts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import kstest, norm

from kagemusha.columns.bins import draw, slopes, to_codes
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Date, Integer, Real, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

COARSE = Real("x", lower=-4, upper=4, bins=9, decimals=3)


def drawn(column, values, *, shaped: bool):
    codes = to_codes(column, values, np.zeros(len(values), dtype=bool)).astype(np.int64)
    shape = slopes(column, np.bincount(codes, minlength=column.n_values).astype(float)) if shaped else None
    numbers = draw(column, codes, rng=np.random.default_rng(1), shape=shape)
    assert (to_codes(column, numbers, np.zeros(len(values), dtype=bool)) == codes).all()
    return numbers


def test_a_smooth_column_is_nearer_than_with_even_bins():
    values = np.random.default_rng(0).normal(0, 1, 40_000)
    near, even = (kstest(drawn(COARSE, values, shaped=s), norm.cdf).statistic for s in (True, False))
    assert near < 0.5 * even


@pytest.mark.parametrize(
    "column",
    [
        COARSE,
        Integer("x", lower=-40, upper=40, bins=7),
        Real("x", edges=(-4, -1, -0.5, 0, 0.1, 2, 4)),
        Integer("x", lower=0, upper=5000, bins=12, scale="log"),
        Date("x", lower="2020-01-01", upper="2021-12-31", bins=6),
        Real("x", values=(0.0, 1.0, 2.5, 4.0)),
    ],
)
def test_every_value_stays_in_its_bin(column):
    rng = np.random.default_rng(2)
    low, high = float(column.low), float(column.high)
    values = low + (high - low) * rng.beta(1.5, 4, 5000)
    drawn(column, np.floor(values) if column.whole else values, shaped=True)


def test_slopes_by_hand():
    counts = np.array([1.0, 2.0, 3.0, 2.0])
    # edges at 1.5, 2.5, 2.5; outside 0.5 and 1.5
    assert slopes(Real("x", lower=0, upper=4, bins=4), counts) == pytest.approx([0.5, 0.25, 0.0, -0.25])
    assert slopes(Real("x", lower=0, upper=4, bins=4), np.array([1.0, 1.0, 50.0, 1.0]))[2] == 0  # a spike
    assert not slopes(Real("x", lower=0, upper=4, bins=4), np.zeros(4)).any()
    assert (np.abs(slopes(Real("x", lower=0, upper=4, bins=4), np.array([0.0, 9.0, 0.0, 9.0]))) <= 1).all()


@pytest.mark.parametrize("method", ["kage", "independent", "gaussian-rows", "nigao"])
def test_doubles_of_every_method_lean_inside_their_bins(method):
    values = np.random.default_rng(0).gamma(1.0, 1.0, 20_000).clip(0, 8)
    table = pa.table({"x": values, "y": np.random.default_rng(1).normal(0, 1, 20_000)})
    schema = Schema([Real("x", lower=0, upper=8, bins=4), Real("y", lower=-4, upper=4, bins=4)])
    model = fit(create(method), table, Budget(20.0, 1e-6), schema=schema, simulation=0)
    x = np.asarray(model.sample(min(8000, model.most_rows), seed=0)["x"])
    first = x[x < 2]
    assert first.mean() < 0.93  # even bins: 1.0; people: 0.69
