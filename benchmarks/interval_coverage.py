"""Do the publishable intervals hold the true error? Columns and pairs of real and constructed tables, by method and ε.

    KAGEMUSHA_DATA=… python benchmarks/interval_coverage.py [--seeds 2]

Writes benchmarks/results/coverage.md. Reads real data to know the truth; the intervals themselves see the model only.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kagemusha.evaluation.kway import l1_errors
from kagemusha.evaluation.tables import read_table
from kagemusha.privacy.budget import Budget
from kagemusha.quality.expected_error import USE, VERDICTS, expected_error
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Schema
from kagemusha.synthesizers import create, fit

RESULTS = Path(__file__).parent / "results" / "coverage.md"
METHODS = ("kage", "aim", "aim-gdp", "mst", "privbayes", "independent")
EPSILONS = (0.1, 1.0, 10.0)


def tables() -> Iterator[tuple[str, Schema, Any]]:
    """Adult, Bank (as in the AIM paper) and the RAND experiment that ships with statsmodels."""
    folder = Path(os.environ.get("KAGEMUSHA_DATA", ""))
    if (folder / "adult.parquet").exists():
        adult = pd.read_parquet(folder / "adult.parquet").query("split == 'train'").drop(columns="split").dropna()
        yield "Adult", *_labelled(adult.select_dtypes(exclude="number"))
        bank = pd.read_parquet(folder / "bank_additional_full.parquet").select_dtypes(exclude="number").astype(str)
        yield "Bank", *_labelled(bank[~(bank == "unknown").any(axis=1)])
    from statsmodels.datasets import randhie

    text = files("kagemusha.cli").joinpath("data/randhie.toml").read_text(encoding="utf-8")
    yield "RAND", Schema.loads(text), randhie.load_pandas().data

    yield "rare codes", *_made(3_000, columns=5, codes=40, power=1.0)
    yield "rarer codes", *_made(1_000, columns=5, codes=40, power=1.6)
    yield "even codes", *_made(2_000, columns=4, codes=30, power=0.0)


def _made(rows: int, *, columns: int, codes: int, power: float) -> tuple[Schema, pd.DataFrame]:
    """Small tables with many codes of power-law frequencies, the columns tied by a hidden kind of person."""
    rng = np.random.default_rng(rows)
    weights = np.arange(1.0, codes + 1) ** -power
    kind = rng.integers(0, 4, rows)
    drawn = rng.choice(codes, (columns, rows), p=weights / weights.sum())
    tied = np.where(rng.random((columns, rows)) < 0.5, (drawn + 3 * kind) % codes, drawn)
    names = [f"x{i}" for i in range(columns)]
    schema = Schema(Category(n, categories=tuple(map(str, range(codes)))) for n in names)
    return schema, pd.DataFrame(tied.T.astype(str), columns=names)


def _labelled(frame: pd.DataFrame) -> tuple[Schema, pd.DataFrame]:
    frame = frame.astype(str).reset_index(drop=True)
    columns = (Category(n, categories=tuple(sorted(frame[n].unique())), out_of_domain="clip") for n in frame)
    return Schema(columns), frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=2)
    seeds = parser.parse_args().seeds
    rows = []
    for name, schema, frame in tables():
        real = read_table(frame, schema)
        for method, epsilon, seed in product(METHODS, EPSILONS, range(seeds)):
            model = fit(create(method), frame, Budget(epsilon, 1e-9), schema=schema, simulation=seed)
            begun = time.perf_counter()
            expected = expected_error(model)
            seconds = time.perf_counter() - begun
            doubles = CodedTable.of_codes(schema, model.sample_codes(rng=np.random.default_rng(seed)))
            intervals = [*expected.columns, *expected.pairs]
            for one, error in zip(intervals, l1_errors(real, doubles, [i.clique for i in intervals]), strict=True):
                rows.append((name, method, epsilon, len(one.clique), one, float(error), seconds))
            print(name, method, epsilon, seed, f"{seconds:.1f} s", flush=True)
    RESULTS.write_text(_page(rows), encoding="utf-8")
    print(RESULTS)


def _page(rows: list[Any]) -> str:
    held = [one.low <= error <= one.high for *_, one, error, _ in rows]
    sets = {name for name, *_ in rows}
    text = [
        "# Coverage of the publishable intervals\n",
        f"`python benchmarks/interval_coverage.py`: {', '.join(sorted(sets))}; every column and every pair; the truth "
        f"is the error of a",
        "table of doubles against the real table. Nominal level 90 %.\n",
        f"**{100 * np.mean(held):.1f} % of {len(rows):,} (data set, method, ε, seed, marginal) cases are inside.** "
        f"Intervals of a release take {np.median([r[-1] for r in rows]):.1f} s (median), "
        f"{max(r[-1] for r in rows):.1f} s at most.\n",
        *_table("method", lambda r: r[1], rows),
        *_table("ε", lambda r: f"{r[2]:g}", rows),
        *_table("data set", lambda r: r[0], rows),
        *_table("marginals", lambda r: "columns" if r[3] == 1 else "pairs", rows),
        *_table("known from", lambda r: r[4].known_from, rows),
        "## Verdicts on pairs\n",
        f"| verdict | pairs | true error, median | true error, 95 % below | true error above {USE} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for verdict in VERDICTS:
        errors = np.array([r[5] for r in rows if r[3] == 2 and r[4].verdict == verdict])
        if len(errors):
            text.append(
                f"| {verdict} | {len(errors)} | {np.median(errors):.4f} | {np.quantile(errors, 0.95):.4f} "
                f"| {100 * np.mean(errors > USE):.1f} % |"
            )
    return "\n".join(text) + "\n"


def _table(name: str, key: Any, rows: list[Any]) -> list[str]:
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    text = [f"| {name} | cases | inside | error below | error above | median error | median interval |"]
    text.append("| --- | --- | --- | --- | --- | --- | --- |")
    for group, own in groups.items():
        low, high, error = np.array([(r[4].low, r[4].high, r[5]) for r in own]).T
        text.append(
            f"| {group} | {len(own)} | {100 * np.mean((low <= error) & (error <= high)):.1f} % | "
            f"{100 * np.mean(error < low):.1f} % | {100 * np.mean(error > high):.1f} % | {np.median(error):.4f} | "
            f"{np.median(low):.4f} … {np.median(high):.4f} |"
        )
    return [*text, ""]


if __name__ == "__main__":
    main()
