"""Run opendp's AIM (its Python extras on top of private-pgm) on a table of codes (in its own environment)."""

import json
import math
import sys

import numpy as np
import opendp.prelude as dp
import polars as pl


def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ whose zCDP implies (ε, δ)-DP, by the conversion of Canonne, Kamath and Steinke."""

    def delta_of(rho: float) -> float:
        orders = 1 + np.logspace(-2, 4, 4000)
        logs = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
        return math.exp(min(0.0, float(logs.min())))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    return low


job = json.loads(sys.argv[1])
codes = np.load(job["codes"])
names = [f"c{i}" for i in range(codes.shape[1])]
dp.enable_features("contrib")
rho = rho_for(job["epsilon"], job["delta"])
context = dp.Context.compositor(
    data=pl.LazyFrame({name: codes[:, i] for i, name in enumerate(names)}),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(rho=rho, delta=0.0),
)
table = (
    context.query(rho=rho, delta=0.0)
    .select(*names)
    .contingency_table(
        keys={name: list(range(size)) for name, size in zip(names, job["sizes"], strict=True)},
        algorithm=dp.mbi.AIM(queries=2),
    )
    .release()
)
# it keeps a place for missing values in every column, one in a thousand rows or so: they become code 0
double = table.synthesize(rows=len(codes)).select(names).fill_null(0)
np.save(job["out"], double.to_numpy().astype(np.int64))
