"""How far upper ends of the publishable intervals are from the true errors: one half of the zoo sets the factors.

    python benchmarks/interval_calibration.py FILE.csv     # plays, a line for each column and pair of each table
    python benchmarks/interval_calibration.py FILE.csv --page    # benchmarks/results/intervals.md from these lines

The lines hold the ends that theory gives (set `ENDS` in quality/released.py to (0, 1) before a run) and the true error
of a table of doubles.
"""

from __future__ import annotations

import csv
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent / "zoo"))
from kagemusha.evaluation.kway import l1_errors
from kagemusha.evaluation.tables import read_table
from kagemusha.privacy.budget import Budget
from kagemusha.quality.expected_error import USE, expected_error
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Column, Integer, Schema
from kagemusha.synthesizers import create, fit
from tables import ZOO, Table

METHODS = ("kage", "aim", "independent")
EPSILONS = (0.3, 1.0, 3.0)
RESULTS = Path(__file__).parent / "results" / "intervals.md"
MOST_COLUMNS, MOST_ROWS = 16, 40_000


def declared(table: Table) -> tuple[Schema, pd.DataFrame]:
    """A schema of the table's codes, and the codes."""
    columns: list[Column] = []
    for i, (size, ordered) in enumerate(zip(table.sizes, table.ordered, strict=True)):
        name = f"c{i}"
        listed = Category(name, categories=tuple(map(str, range(size))), out_of_domain="clip")
        columns.append(Integer(name, lower=0, upper=size - 1) if ordered and size > 1 else listed)
    columns = columns[:MOST_COLUMNS]
    frame = pd.DataFrame(table.codes[:, : len(columns)], columns=[c.name for c in columns])
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
    for column in columns:
        if column.axis is None:
            frame[column.name] = frame[column.name].astype(str)
    return Schema(columns), frame.reset_index(drop=True)


def ends(lines: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The parts of the upper end between which the error is in 92 of 100 cases; each table counts the same."""
    found = {}
    for kind, group in lines[lines["half"] == "train"].groupby("kind"):
        ratio = (group["error"] / group["high"]).to_numpy()
        weight = 1 / group.groupby("table")["error"].transform("count").to_numpy()
        order = np.argsort(ratio)
        reached = np.cumsum(weight[order]) / weight.sum()
        found[str(kind)] = tuple(round(float(ratio[order][np.searchsorted(reached, p)]), 2) for p in (0.04, 0.96))
    return found


def page(path: Path) -> str:
    """What was set, and how often it held where nothing was set."""
    lines = pd.read_csv(path)
    lines["kind"] = lines["known from"].where(lines["columns"] == 2, "column")
    near = ends(lines)
    high = lines["high"] * [near[kind][1] for kind in lines["kind"]]
    low = np.minimum(high, np.maximum(lines["low"], lines["high"] * [near[kind][0] for kind in lines["kind"]]))
    lines["before"] = (lines["low"] <= lines["error"]) & (lines["error"] <= lines["high"])
    lines["held"] = (low <= lines["error"]) & (lines["error"] <= high)
    lines["wide before"], lines["wide"] = lines["high"] / lines["error"], high / lines["error"]
    text = [
        "# How near the ends of the publishable intervals can be\n",
        "`python benchmarks/interval_calibration.py`: kage, aim and independent at ε = 0.3, 1 and 3 on the tables of "
        "the zoo, at most",
        f"{MOST_COLUMNS} columns and {MOST_ROWS:,} rows of each. One half sets the parts of theory's upper end, the "
        "other half is only reported. Nominal 90 %.\n",
        "| known from | from | to |",
        "| --- | --- | --- |",
        *(f"| {kind} | {least} | {most} |" for kind, (least, most) in near.items()),
        "",
        "| tables | how many | intervals | held, theory's ends | held, nearer ends | fewest in a table | upper end "
        "over true error, median, before | after |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for half, word in (("train", "that set the ends"), ("test", "the other half")):
        own = lines[lines["half"] == half]
        each = own.groupby("table")["held"].mean()
        text.append(
            f"| {word} | {len(each)} | {len(own):,} | {100 * own['before'].mean():.1f} % | "
            f"{100 * own['held'].mean():.1f} % | {100 * each.min():.0f} % ({each.idxmin()}) | "
            f"{own['wide before'].median():.1f} | {own['wide'].median():.1f} |"
        )
    test = lines[lines["half"] == "test"]
    for name in ("kind", "method", "epsilon"):
        text += ["", f"| {name} | intervals of the other half | held |", "| --- | --- | --- |"]
        text += [f"| {k} | {len(g):,} | {100 * g['held'].mean():.1f} % |" for k, g in test.groupby(name)]
    pairs = test["columns"] == 2
    used = pairs & (high <= USE)
    text += [
        "",
        f"Of the {used.sum():,} pairs of the other half whose upper end is at most {USE} (5 of 100 in a wrong cell), "
        f"{100 * (test['error'] > USE)[used].mean():.1f} % had a larger error; with theory's ends "
        f"{(pairs & (test['high'] <= USE)).sum():,} pairs were called so.",
    ]
    return "\n".join(text) + "\n"


def main() -> None:
    """Run, or make the page."""
    if "--page" in sys.argv:
        RESULTS.write_text(page(Path(sys.argv[1])), encoding="utf-8")
        return
    with Path(sys.argv[1]).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["half", "table", "method", "epsilon", "columns", "known from", "low", "high", "error"])
        for entry in ZOO:
            begun = time.process_time()
            schema, frame = declared(entry.load())
            real = read_table(frame, schema)
            for method, epsilon in product(METHODS, EPSILONS):
                model = fit(create(method), frame, Budget(epsilon, 1e-9), schema=schema, simulation=1)
                expected = expected_error(model)
                doubles = CodedTable.of_codes(schema, model.sample_codes(rng=np.random.default_rng(1)))
                intervals = [*expected.columns, *expected.pairs]
                errors = l1_errors(real, doubles, [i.clique for i in intervals])
                for one, error in zip(intervals, errors, strict=True):
                    writer.writerow(
                        [entry.half, entry.name, method, epsilon, len(one.clique), one.known_from]
                        + [f"{x:.6g}" for x in (one.low, one.high, error)]
                    )
            file.flush()
            print(entry.name, entry.half, f"{time.process_time() - begun:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
