"""Is the ε that `plan --error` solves for right? The error it then brings on the real table, against the wanted one.

    python benchmarks/epsilon_for_error.py [--out benchmarks/results/epsilon_for_error.md]

Ten tables; five random pairs each; the wanted error is 5 %, or 10 % where that is out of reach. Two stand-ins: one made
up from the schema, and a model of the table released before at ε = 0.5. Error at the solved ε: mean of three runs.
"""

from __future__ import annotations

import argparse
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from kagemusha.planning.wanted import STAND_INS, like, made_up, mean_error, solve_epsilon
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers import create, fit
from tables import TABLES as REAL


def made(rows: int, sizes: list[int], seed: int, follow: float) -> tuple[np.ndarray, list[int]]:
    """A chain: each column follows the one before it in a share of the rows."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, sizes[0], rows)]
    for size in sizes[1:]:
        shares = np.arange(1.0, size + 1) ** -rng.uniform(0.2, 1.2)
        own = rng.choice(size, rows, p=shares / shares.sum())
        columns.append(np.where(rng.random(rows) < follow, (columns[-1] * 3 + 1) % size, own))
    return np.column_stack(columns), sizes


def numeric(name: str, columns: int, bins: int) -> tuple[np.ndarray, list[int]]:
    """A real table of measurements, in about equally filled bins."""
    frame = (
        pd.read_parquet(Path(os.environ["KAGEMUSHA_DATA"]) / f"{name}.parquet")
        .select_dtypes("number")
        .iloc[:, :columns]
    )
    codes = [pd.qcut(frame[c], bins, labels=False, duplicates="drop") for c in frame]
    return np.column_stack(codes).astype(int), [int(c.max()) + 1 for c in codes]


TABLES = {
    **{name: REAL[name] for name in ("adult", "adult-wide", "bank")},
    "creditcard": lambda: numeric("creditcard_sample", 10, 10),
    "esr": lambda: numeric("esr", 12, 8),
    "chain 5k": lambda: made(5_000, [3, 5, 8, 4, 6], 1, 0.5),
    "chain 30k": lambda: made(30_000, [2, 10, 12, 7, 9, 4, 15], 2, 0.3),
    "chain 100k": lambda: made(100_000, [8, 20, 16, 30, 12], 3, 0.7),
    "loose 20k": lambda: made(20_000, [6] * 10, 4, 0.05),
    "wide 20k": lambda: made(20_000, [4] * 25, 5, 0.4),
}


def main() -> None:
    """Solve, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = []
    for name in given.tables or TABLES:
        codes, sizes = TABLES[name]()
        schema = Schema(
            [Category(f"c{i}", categories=tuple(range(s)), out_of_domain="clip") for i, s in enumerate(sizes)]
        )
        table = CodedTable.of_codes(schema, codes)
        rng = np.random.default_rng(0)
        every = list(combinations(schema.domain.names, 2))
        pairs = [every[i] for i in rng.permutation(len(every))[:5]]
        before = fit(create("kage"), CodesSource(schema, table.columns), Budget(0.5), simulation=99)
        stand_ins = {
            "made up": [made_up(schema, table.rows, rng=rng) for _ in range(STAND_INS)],
            "released before": [like(before, table.rows, rng=rng) for _ in range(STAND_INS)],
        }
        for what, stand_in in stand_ins.items():
            for wanted in (0.05, 0.1, 0.2):
                solved = solve_epsilon(create("kage"), schema, stand_in, Budget(1.0), wanted, pairs)
                if solved.reached:
                    break
            errors = []
            for seed in range(3):
                model = fit(create("kage"), CodesSource(schema, table.columns), Budget(solved.epsilon), simulation=seed)
                doubles = CodedTable.of_codes(schema, model.sample_codes(table.rows, rng=np.random.default_rng(seed)))
                errors.append(mean_error(table, doubles, pairs))
            line = (name, what, wanted, solved.epsilon, float(np.mean(errors)))
            print(*line, f"{line[-1] / wanted:.2f}", flush=True)
            lines.append(line)
    if given.out:
        given.out.write_text(report(lines))


def report(lines: list[tuple[str, str, float, float, float]]) -> str:
    """The table for the repository."""
    right = {
        what: [abs(error / wanted - 1) <= 0.2 for _, w, wanted, _, error in lines if w == what]
        for what in ("made up", "released before")
    }
    text = (
        f"# Which ε for a wanted error?\n\n{(__doc__ or '').split(chr(10) * 2, 2)[2].strip()}\n\nWithin 20 % of "
        f"the wanted error: "
    )
    text += "; ".join(f"stand-in {what}: {sum(found)} of {len(found)}" for what, found in right.items()) + ".\n\n"
    text += "| table | stand-in | wanted | ε | error | error / wanted |\n| --- | --- | --- | --- | --- | --- |\n"
    return text + "".join(f"| {n} | {s} | {w:g} | {e:g} | {x:.4f} | {x / w:.2f} |\n" for n, s, w, e, x in lines)


if __name__ == "__main__":
    main()
