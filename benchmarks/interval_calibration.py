"""How far upper ends of the publishable intervals are from the true errors: one half of the zoo sets the factors.

    python benchmarks/interval_calibration.py FILE.csv

Writes a line for each column and pair of each table, method and ε: half, table, method, ε, what it is known from, the
ends that theory gives, and the true error. `python benchmarks/interval_coverage.py --zoo FILE.csv` makes the page.
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
from kagemusha.quality.expected_error import expected_error
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Column, Integer, Schema
from kagemusha.synthesizers import create, fit
from tables import ZOO, Table

METHODS = ("kage", "aim", "independent")
EPSILONS = (0.3, 1.0, 3.0)
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


def main() -> None:
    """Run."""
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
