"""Doubles of the made hospital, before and after: without rules, formulas, special values and trees, and with them.

    python benchmarks/hospital_doubles.py [--epsilon 3] [--rows 1000000] [--out benchmarks/results/hospital.json]

*Before* is what the draft of a schema gave: dates cut into bins each by itself, the laboratory value and the codes
dropped or plain, no rules. Both are judged by what a person sees: rules broken, lengths of stay, values lost and
invented, and a learner that tells doubles from people by raw values.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hospital
from kagemusha.encoding.rules import violations
from kagemusha.evaluation.discriminator import discriminate_raw
from kagemusha.evaluation.raw import read_raw
from kagemusha.folder.stream import stream
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Date, Integer, Real, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create


def before(after: Schema) -> Schema:
    """The same table as a draft saw it."""
    plain = [
        Date("birth", lower="1920-01-01", upper="2021-12-31", bins=32),
        Integer("age", lower=0, upper=110, bins=32),
        Date("discharge", lower="2020-01-01", upper="2022-06-30", bins=32),
        Date("admission", lower="2020-01-01", upper="2021-12-31", bins=32),
        Category("icd", categories=after["icd"].categories[:31]),
        Category("postcode", categories=after["postcode"].categories),
        Real("weight", lower=0, upper=250, bins=32, decimals=1),
        Integer("pulse_max", lower=0, upper=250, bins=32),
        Real("crp", lower=0, upper=10_000, bins=32, missing=True, decimals=1),
        Real("dose", lower=0, upper=20, bins=32),
        Real("cost", lower=0, upper=100_000, bins=32, decimals=2),
    ]
    names = {column.name for column in after.table_columns}
    kept = [column for column in after if column.name in names]
    return Schema(kept, after.unit).with_columns(*plain)


def judge(real: pd.DataFrame, schema: Schema, rules: Schema, path: Path, epsilon: float, rows: int) -> dict[str, Any]:
    """Fit, draw and look."""
    began = time.perf_counter()
    model = fit(create("kage"), path, Budget(epsilon, 1e-9), schema=schema, simulation=1)
    fitted = time.perf_counter()
    broken: dict[str, int] = {}
    parts = []
    for chunk in stream(model, rows, rng=np.random.default_rng(0), jobs=1):
        for rule, count in violations(chunk, rules).items():
            broken[rule] = broken.get(rule, 0) + count
        parts.append(chunk.slice(0, len(real)).to_pandas())
    drawn = time.perf_counter()
    doubles = pd.concat(parts).head(len(real))
    raw = [read_raw(frame, rules, rng=np.random.default_rng(0)) for frame in (real, doubles)]
    told = discriminate_raw(raw[0], raw[1]) if all(raw) else None
    stay = [(pd.to_datetime(f["discharge"]) - pd.to_datetime(f["admission"])).dt.days for f in (real, doubles)]
    return {
        "rows": rows,
        "seconds to fit": round(fitted - began, 1),
        "seconds to draw and check": round(drawn - fitted, 1),
        "rows that break a rule": broken,
        "length of stay, 5 / 50 / 95 % of people": np.percentile(stay[0], [5, 50, 95]).tolist(),
        "length of stay, 5 / 50 / 95 % of doubles": np.percentile(stay[1], [5, 50, 95]).tolist(),
        "ICD codes of people and of doubles": [int(real["icd"].nunique()), int(doubles["icd"].nunique())],
        "values nobody declared": int((~doubles["icd"].isin(hospital.icd_codes())).sum()),
        "distinct doses of people and of doubles": [int(real["dose"].nunique()), int(doubles["dose"].nunique())],
        "share of N in the laboratory, people and doubles": [float((f["crp"] == "N").mean()) for f in (real, doubles)],
        "raw discriminator (.5 is none)": None if told is None else round(float(told.auroc), 3),
        "told by": None if told is None else [t.feature for t in told.telling[:4]],
    }


def main() -> None:
    """Both schemas, side by side."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--epsilon", type=float, default=3.0)
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--patients", type=int, default=20_000)
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hospital.write(Path(folder), given.patients)
        path = Path(folder) / "visits.csv"
        after = Schema.load(Path(folder) / "visits.toml")
        real = pd.read_csv(path, dtype={"crp": str, "postcode": str})
        found = {
            "epsilon": given.epsilon,
            "before": judge(real, before(after), after, path, given.epsilon, min(given.rows, 100_000)),
            "after": judge(real, after, after, path, given.epsilon, given.rows),
        }
    text = json.dumps(found, indent=2)
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
