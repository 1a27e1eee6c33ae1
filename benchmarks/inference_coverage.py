"""How often intervals of `kg.estimate` hold: `python benchmarks/inference_coverage.py [SAMPLES] [train|test]`.

A table of the zoo is the population; samples are drawn from it with replacement, put through kage, and means, shares,
differences, odds ratios and regressions that can be asked of its first columns are estimated. The truth is the
population's own, as the schema codes it. Tables that are done are kept in results/inference.csv, which is no part of
the project; the page is results/inference.md, and docs/estimates.md has its summary. The method was set on the tables
of the train half; those of the test half were run once.
"""

from __future__ import annotations

import csv
import sys
import time
from collections import defaultdict
from itertools import combinations, permutations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "zoo"))

from run import schema_of

from kagemusha.inference.estimate import estimate
from kagemusha.inference.evidence import Unknown, evidence_of
from kagemusha.inference.formula import read_formula
from kagemusha.inference.moments import Released
from kagemusha.inference.regression import MOST_LOGISTIC, design
from kagemusha.inference.statistics import Statistic, read_statistic
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Schema
from kagemusha.sources import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from tables import ZOO

EPSILONS = (1.0, 10.0)
MOST_ROWS, MOST_COLUMNS, MOST_PAIRS, MOST_GROUPS, MOST_FORMULAS = 20_000, 16, 40, 6, 4
FEWEST_ROWS = 1_000
HERE = Path(__file__).parent
KEPT, PAGE = HERE / "results" / "inference.csv", HERE / "results" / "inference.md"
KINDS = (
    *("mean", "share", "mean by group", "difference", "odds ratio"),
    *(f"{what}, {n} column{'s' * (n > 1)}" for what in ("least squares", "logistic") for n in (1, 2, 3, 5)),
)
FIELDS = ("half", "table", "epsilon", "kind", "asked", "unknown", "held", "error", "width")


def questions(schema: Schema, model: Model) -> list[tuple[str, str]]:
    """(kind, question) about single columns, measured pairs, and sets of columns whose pairs were measured."""
    found: list[tuple[str, str]] = []
    for column in schema.modelled:
        if column.axis is not None:
            found.append(("mean", f"mean {column.name}"))
        else:
            found += [("share", f"share of {column.name} = '{label}'") for label in column.code_names[:MOST_GROUPS]]
    measured = [one.query.clique for one in model.interactions if len(one.query.clique) == 2]
    pairs = [pair for clique in measured for pair in permutations(clique)][:MOST_PAIRS]
    for by, other in pairs:
        groups, column = schema.modelled_column(by), schema.modelled_column(other)
        if groups.axis is not None or groups.n_values > MOST_GROUPS:
            continue
        if column.axis is not None:
            found.append(("mean by group", f"mean {other} by {by}"))
            if groups.n_values == 2:
                found.append(("difference", f"difference in mean {other} by {by}"))
        elif groups.n_values == 2:
            label = column.code_names[0]
            found.append(("difference", f"difference in share of {other} = '{label}' by {by}"))
            found.append(("odds ratio", f"odds ratio of {other} = '{label}' by {by}"))
    return found + formulas(schema, model)


def formulas(schema: Schema, model: Model) -> list[tuple[str, str]]:
    """Regressions of one to three columns whose pairs were all measured, a few of each kind."""
    released, found = Released(model), []
    names = schema.domain.names
    known = {frozenset(pair) for pair in combinations(names, 2) if released.measured(*pair)}
    for count in (1, 2, 3, 5):
        taken: dict[str, int] = defaultdict(int)
        for columns in combinations(names, count + 1):
            if not all(frozenset(pair) in known for pair in combinations(columns, 2)):
                continue
            *others, last = columns
            outcome = schema.modelled_column(last)
            what = "least squares" if outcome.axis is not None else "logistic"
            if taken[what] >= MOST_FORMULAS or (what == "logistic" and count > MOST_LOGISTIC):
                continue
            taken[what] += 1
            label = outcome.code_names[int(np.argmax(released.counts(last)))]
            left = last if outcome.axis is not None else f"{last} = '{label}'"
            kind = f"{what}, {count} column{'s' * (count > 1)}"
            found.append((kind, f"{left} ~ {' + '.join(others)}"))
    return found


def exactly(statistic: Statistic, codes: np.ndarray, schema: Schema) -> np.ndarray:
    """The statistic of a table of codes."""
    columns = [codes[:, schema.domain.axis(name)] for name in statistic.columns]
    shape = schema.domain.shape(statistic.columns)
    table = np.bincount(np.ravel_multi_index(columns, shape), minlength=int(np.prod(shape))).reshape(shape)
    axes = tuple(range(int(len(statistic.groups) > 1), table.ndim))
    above, below = (
        np.atleast_1d((table * by).sum(axis=axes))[: len(statistic.groups)]
        for by in (statistic.value, statistic.weight)
    )
    return statistic.ratios(above[None], below[None])[0]


def regressed(model: Model, asked: str, codes: np.ndarray, schema: Schema) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of a table of codes, of the same features, and the deviation that samples of them have."""
    formula = read_formula(asked, schema)
    features, outcome = design(Released(model), formula)
    columns = [one.values[codes[:, schema.domain.axis(one.column)]] for one in features]
    y = outcome.values[codes[:, schema.domain.axis(outcome.column)]]
    x = np.column_stack([np.ones(len(codes)), *columns])
    found = np.linalg.lstsq(x, y, rcond=None)[0]
    slope = np.ones(len(y))
    if formula.logistic:
        found = np.zeros(x.shape[1])
        found[0] = np.log(y.mean() / (1 - y.mean()))
        for _ in range(40):
            shown = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
            slope = shown * (1 - shown)
            step = np.linalg.lstsq((x * slope[:, None]).T @ x, x.T @ (y - shown), rcond=None)[0]
            found = found + step
            if np.abs(step).max() < 1e-9:
                break
    shown = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30))) if formula.logistic else x @ found
    bread = np.linalg.pinv((x * slope[:, None]).T @ x)
    inside = x * (y - shown)[:, None]
    law = bread @ (inside.T @ inside) @ bread * len(y) / model.rows
    return found, np.sqrt(np.maximum(np.diag(law), 0))


def alone(model: Model, statistic: Statistic, seed: int) -> np.ndarray:
    """Half the width that the sample alone gives, without any noise."""
    evidence = evidence_of(model, statistic)
    rng = np.random.default_rng(seed)
    share = evidence.expected.ravel() / evidence.expected.sum()
    drawn = rng.multinomial(model.rows, share, size=1000).reshape(1000, *evidence.table.shape).astype(float)
    scattered = statistic.ratios(*evidence.sums(drawn))
    return 1.96 * (np.nanpercentile(scattered, 84.134, axis=0) - np.nanpercentile(scattered, 15.866, axis=0)) / 2


def judged(model: Model, kind: str, asked: str, codes: np.ndarray, schema: Schema, seed: int) -> list[tuple]:
    """For each number of an answer: unknown, held, error in deviations of the interval, width to the sample's own."""
    answer = estimate(model, asked, seed=seed)
    if any(one.why for one in answer):
        return [(1, "", "", "") for _ in answer]
    if "~" in asked:
        try:
            truth, own = regressed(model, asked, codes, schema)
        except Unknown:
            return []
        own = 1.96 * own
    else:
        statistic = read_statistic(asked, schema)
        truth = statistic.shown(exactly(statistic, codes, schema))
        own = alone(model, statistic, seed)
        own = own if kind in ("mean", "share", "mean by group") else np.full(len(own), np.nan)
    found = []
    for one, true, width in zip(answer, truth, own, strict=True):
        if np.isfinite(true):
            half = (one.high - one.low) / 2
            held = int(one.low <= true <= one.high)
            found.append((0, held, (one.value - true) / half * 1.96, half / max(float(width), 1e-12)))
    return found


def run(half: str, samples: int) -> None:
    """All tables of a half that are not done yet."""
    done = {(line["half"], line["table"]) for line in lines()}
    for entry in ZOO:
        if entry.half != half or (half, entry.name) in done:
            continue
        table = entry.load()
        codes = table.codes[:, :MOST_COLUMNS]
        if len(codes) < FEWEST_ROWS or codes.shape[1] < 3:
            continue
        began = time.process_time()
        small = type(table)(codes, table.sizes[:MOST_COLUMNS], table.ordered[:MOST_COLUMNS], None)
        schema = schema_of(small)
        rng = np.random.default_rng(0)
        found = []
        for epsilon in EPSILONS:
            for seed in range(samples):
                sample = codes[rng.integers(0, len(codes), min(len(codes), MOST_ROWS))]
                source = CodesSource(schema, list(np.ascontiguousarray(sample.T)))
                model = fit(create("kage"), source, Budget(epsilon, 1e-9), simulation=seed)
                for kind, asked in questions(schema, model):
                    for one in judged(model, kind, asked, codes, schema, seed):
                        found.append((half, entry.name, epsilon, kind, asked, *one))
        keep(found)
        print(entry.name, f"{time.process_time() - began:.0f} s", flush=True)


def keep(found: list[tuple]) -> None:
    """Add what was found."""
    fresh = not KEPT.exists()
    with KEPT.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if fresh:
            writer.writerow(FIELDS)
        writer.writerows([f"{v:.4g}" if isinstance(v, float) else v for v in one] for one in found)


def lines() -> list[dict[str, str]]:
    """What was found so far."""
    if not KEPT.exists():
        return []
    with KEPT.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page() -> str:
    """The results as a page."""
    every = lines()
    text = [
        "# Coverage of intervals for the population",
        "",
        "`python benchmarks/inference_coverage.py`: a table of the zoo is the population, samples of it are put "
        "through "
        "kage, and 95 % intervals of `kg.estimate` are held against the population's own numbers. Width is that of "
        "the interval over the one that the sample alone, without noise, would give (median). Error is the "
        "deviation of (estimate − truth) in units in which the interval takes it to be 1. Unknown is the share of "
        "questions to which the answer is that nothing can be said.",
    ]
    for half, title in (("train", "Tables on which the method was set"), ("test", "Tables looked at once")):
        own = [line for line in every if line["half"] == half]
        if not own:
            continue
        names = sorted({line["table"] for line in own})
        text += ["", f"## {title}: {', '.join(names)}", ""]
        text += ["| what | ε | intervals | inside | by table | tables | error | width | unknown |", "| --- " * 9 + "|"]
        for kind in KINDS:
            for epsilon in EPSILONS:
                some = [one for one in own if one["kind"] == kind and float(one["epsilon"]) == epsilon]
                told = [one for one in some if one["unknown"] == "0"]
                if not told:
                    continue
                by: dict[str, list[int]] = defaultdict(list)
                for one in told:
                    by[one["table"]].append(int(one["held"]))
                shares = [float(np.mean(v)) for v in by.values()]
                errors = [float(one["error"]) for one in told if one["error"] != "nan"]
                error = float(np.sqrt(np.mean([min(9.0, one**2) for one in errors])))
                widths = [float(one["width"]) for one in told if one["width"] != "nan"]
                wide = f"{np.median(widths):.2f}" if widths else ""
                inside = np.mean([int(one["held"]) for one in told])
                text.append(
                    f"| {kind} | {epsilon:g} | {len(told)} | {100 * inside:.1f} % | {100 * min(shares):.0f} to "
                    f"{100 * max(shares):.0f} % | {len(by)} | {error:.2f} | {wide} | "
                    f"{100 * (1 - len(told) / len(some)):.0f} % |"
                )
    return "\n".join(text) + "\n"


def summary() -> str:
    """The tables that were looked at once, all ε together, for the page of the documents."""
    own = [one for one in lines() if one["half"] == "test" and one["unknown"] == "0"]
    names = {one["table"] for one in own}
    text = [f"| {len(names)} tables | intervals | inside | ε = 1 | ε = 10 |", "| --- " * 5 + "|"]
    for kind in KINDS:
        some = [one for one in own if one["kind"] == kind]
        if some:
            by = [[int(o["held"]) for o in some if float(o["epsilon"]) == epsilon] for epsilon in EPSILONS]
            shares = [f"{100 * np.mean(each):.1f} %" if each else "" for each in ([int(o["held"]) for o in some], *by)]
            text.append(f"| {kind} | {len(some):,} | " + " | ".join(shares) + " |")
    return "\n".join(text)


def into_docs() -> None:
    """Between the marks of docs/estimates.md."""
    path, begin, end = HERE.parent / "docs" / "estimates.md", "<!-- coverage -->", "<!-- /coverage -->"
    head, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(f"{head}{begin}\n{summary()}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    run(sys.argv[2] if len(sys.argv) > 2 else "train", int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    PAGE.write_text(page(), encoding="utf-8")
    into_docs()


if __name__ == "__main__":
    main()
