"""What rules cost in accuracy: the two-way error of doubles with declared rules, and of the same release without them.

    python benchmarks/constraints.py [--seeds 2] [--out benchmarks/results/constraints.md]

Three tables: the made hospital, Adult and Bank (`KAGEMUSHA_DATA`, docs/data.md), at four budgets. Rules are such as
anybody knows without the data. Both sides have the same columns, bins and noise; the error is the mean over all pairs
of columns of the L1 distance between real and synthetic shares of codes.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hospital
from kagemusha.encoding import Encoder
from kagemusha.encoding.rules import violations
from kagemusha.privacy.budget import Budget
from kagemusha.reproduce.paper_tables import ADULT, BANK, data_folder
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.constraints import Constraint
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

EPSILONS = (0.3, 1.0, 3.0, 10.0)

ADULT_RULES = (
    "relationship = 'Husband' implies sex = 'Male'",
    "relationship = 'Wife' implies sex = 'Female'",
    "relationship = 'Husband' implies marital-status in ('Married-civ-spouse', 'Married-AF-spouse')",
    "relationship = 'Wife' implies marital-status in ('Married-civ-spouse', 'Married-AF-spouse')",
    "education determines education-num",
)
BANK_RULES = (
    "poutcome = 'nonexistent' implies previous = 0",
    "previous = 0 implies poutcome = 'nonexistent'",
    "housing = 'unknown' implies loan = 'unknown'",
    "loan = 'unknown' implies housing = 'unknown'",
)


@dataclass(frozen=True, eq=False)
class Case:
    """A table with its rules."""

    name: str
    table: Any
    ruled: Schema


def _plain(name: str, frame: pd.DataFrame, names: list[str], numbers: list[Integer], rules: tuple[str, ...]) -> Case:
    labels = [Category(n, categories=tuple(sorted(frame[n].astype(str).unique())), out_of_domain="clip") for n in names]
    kept = frame[[*names, *(number.name for number in numbers)]].astype(dict.fromkeys(names, str))
    return Case(name, kept, Schema([*labels, *numbers], constraints=[Constraint(_quoted(rule)) for rule in rules]))


def _quoted(rule: str) -> str:
    """Names with a hyphen in quotation marks, as rules want them."""
    for name in ("marital-status", "education-num"):
        rule = rule.replace(name, f'"{name}"')
    return rule


def cases(folder: Path) -> list[Case]:
    """The three tables."""
    hospital.write(folder)
    visits = pd.read_csv(folder / "visits.csv", dtype={"crp": str, "postcode": str})
    adult = pd.read_parquet(data_folder() / "adult.parquet")
    adult = adult[adult["split"] == "train"].dropna()
    bank = pd.read_parquet(data_folder() / "bank_additional_full.parquet")
    return [
        Case("hospital", visits, Schema.load(folder / "visits.toml")),
        _plain("Adult", adult, [*ADULT, "education-num"], [Integer("age", lower=17, upper=90, bins=15)], ADULT_RULES),
        _plain("Bank", bank, list(BANK), [
            Integer("previous", lower=0, upper=7), Integer("age", lower=17, upper=98, bins=16),
        ], BANK_RULES),
    ]  # fmt: skip


def error(real: np.ndarray, double: np.ndarray, sizes: tuple[int, ...]) -> float:
    """Mean L1 distance of the shares of all pairs of columns."""
    found = []
    for i, j in combinations(range(len(sizes)), 2):
        flat = [
            np.bincount(t[:, i] * sizes[j] + t[:, j], minlength=sizes[i] * sizes[j]) / len(t) for t in (real, double)
        ]
        found.append(np.abs(flat[0] - flat[1]).sum())
    return float(np.mean(found))


def compare(case: Case, epsilon: float, seed: int) -> tuple[float, float, int, int]:
    """Errors with and without the rules, and rows that break one of them on each side."""
    found: list[float] = []
    broken: list[int] = []
    free = Schema(case.ruled, case.ruled.unit)
    real = Encoder(free).encode(case.table)
    for schema in (case.ruled, free):
        model = fit(create("kage"), case.table, Budget(epsilon, 1e-9), schema=schema, simulation=seed)
        doubles = model.sample(len(case.table), seed=seed, like="pandas")
        found.append(error(real, Encoder(free).encode(_whole(doubles, case.table)), free.domain.sizes))
        broken.append(sum(violations(doubles, case.ruled).values()))
    return found[0], found[1], broken[0], broken[1]


def _whole(doubles: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Doubles with the columns that are left out of them, empty."""
    return doubles.reindex(columns=[*table.columns])


def main() -> None:
    """All tables and budgets, as a page."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--seeds", type=int, default=2)
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    lines = ["| table | ε | two-way error with rules | without | ratio | rows that break a rule, with | without |",
             "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    better = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder)):
            for epsilon in EPSILONS:
                runs = np.array([compare(case, epsilon, seed) for seed in range(given.seeds)])
                with_rules, without = runs[:, 0].mean(), runs[:, 1].mean()
                better, total = better + (with_rules <= without), total + 1
                lines.append(f"| {case.name} | {epsilon:g} | {with_rules:.4f} | {without:.4f} | "
                    f"{with_rules / without:.3f} | "
                             f"{runs[:, 2].mean():,.0f} | {runs[:, 3].mean():,.0f} |")  # fmt: skip
                print(lines[-1], flush=True)
    page = "\n".join([
        "# What rules cost in accuracy", "",
        f"`python benchmarks/constraints.py --seeds {given.seeds}`: kage, δ = 10⁻⁹, {given.seeds} seed(s). "
        f"With rules the error is no larger in {better} of {total} cases.", "", *lines, "",
    ])  # fmt: skip
    print(page)
    if given.out:
        given.out.write_text(page)


if __name__ == "__main__":
    main()
