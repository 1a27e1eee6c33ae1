"""How often intervals of `kg.estimate` hold: `python benchmarks/inference_coverage.py [samples]`.

A table of the zoo is the population; samples are drawn from it with replacement, put through kage, and every mean,
share, difference and odds ratio that can be asked of one or two of its first columns is estimated. The truth is the
population's own, as the schema codes it. Writes results/inference.md. The method was set on the tables of the train
half; those of the test half were run once, at the end.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "zoo"))

from run import schema_of

from kagemusha.inference.estimate import estimate
from kagemusha.inference.evidence import evidence_of
from kagemusha.inference.statistics import Statistic, read_statistic
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Schema
from kagemusha.sources import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from tables import ZOO

EPSILONS = (1.0, 10.0)
MOST_ROWS, MOST_COLUMNS, MOST_PAIRS, MOST_GROUPS = 20_000, 16, 40, 6
FEWEST_ROWS = 1_000
HERE = Path(__file__).parent
KINDS = ("mean", "share", "mean by group", "difference", "odds ratio")


def questions(schema: Schema, model: Model) -> list[tuple[str, str]]:
    """(kind, question) about single columns and measured pairs."""
    found: list[tuple[str, str]] = []
    names = [column.name for column in schema.modelled]
    for column in schema.modelled:
        if column.axis is not None:
            found.append(("mean", f"mean {column.name}"))
        else:
            found += [("share", f"share of {column.name} = '{label}'") for label in column.code_names[:MOST_GROUPS]]
    measured = [one.query.clique for one in model.interactions if len(one.query.clique) == 2]
    pairs = [pair for clique in measured for pair in permutations(clique)][:MOST_PAIRS]
    for by, other in pairs:
        groups, column = schema.modelled_column(by), schema.modelled_column(other)
        if groups.axis is not None or groups.n_values > MOST_GROUPS or names.index(by) < 0:
            continue
        if column.axis is not None:
            found.append(("mean by group", f"mean {other} by {by}"))
            if groups.n_values == 2:
                found.append(("difference", f"difference in mean {other} by {by}"))
        elif groups.n_values == 2:
            label = column.code_names[0]
            found.append(("difference", f"difference in share of {other} = '{label}' by {by}"))
            found.append(("odds ratio", f"odds ratio of {other} = '{label}' by {by}"))
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


def alone(model: Model, statistic: Statistic, seed: int) -> np.ndarray:
    """Half the width that the sample alone gives, without any noise."""
    evidence = evidence_of(model, statistic)
    rng = np.random.default_rng(seed)
    share = evidence.expected.ravel() / evidence.expected.sum()
    drawn = rng.multinomial(model.rows, share, size=1000).reshape(1000, *evidence.table.shape).astype(float)
    scattered = statistic.ratios(*evidence.sums(drawn))
    return 1.96 * (np.nanpercentile(scattered, 84.134, axis=0) - np.nanpercentile(scattered, 15.866, axis=0)) / 2


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    half = sys.argv[2] if len(sys.argv) > 2 else "train"
    held: dict[tuple[str, str, float], list[bool]] = defaultdict(list)
    wide: dict[tuple[str, float], list[float]] = defaultdict(list)
    unknown: dict[str, list[bool]] = defaultdict(list)
    for entry in ZOO:
        if entry.half != half:
            continue
        table = entry.load()
        codes = table.codes[:, :MOST_COLUMNS]
        if len(codes) < FEWEST_ROWS or codes.shape[1] < 3:
            continue
        small = type(table)(codes, table.sizes[:MOST_COLUMNS], table.ordered[:MOST_COLUMNS], None)
        schema = schema_of(small)
        rng = np.random.default_rng(0)
        for epsilon in EPSILONS:
            for seed in range(samples):
                sample = codes[rng.integers(0, len(codes), min(len(codes), MOST_ROWS))]
                source = CodesSource(schema, list(np.ascontiguousarray(sample.T)))
                model = fit(create("kage"), source, Budget(epsilon, 1e-9), simulation=seed)
                for kind, asked in questions(schema, model):
                    statistic = read_statistic(asked, schema)
                    truth = statistic.shown(exactly(statistic, codes, schema))
                    for one, true in zip(estimate(model, asked, seed=seed), truth, strict=True):
                        unknown[kind].append(bool(one.why))
                        if one.why or not np.isfinite(true):
                            continue
                        held[(entry.name, kind, epsilon)].append(one.low <= true <= one.high)
                        if kind in ("mean", "share"):
                            wide[(kind, epsilon)].append(
                                (one.high - one.low) / 2 / max(1e-12, float(alone(model, statistic, seed)[0]))
                            )
        print(
            entry.name,
            {k[1:]: f"{np.mean(v):.3f} of {len(v)}" for k, v in held.items() if k[0] == entry.name},
            flush=True,
        )
    for kind in KINDS:
        for epsilon in EPSILONS:
            every = [x for k, v in held.items() if k[1:] == (kind, epsilon) for x in v]
            by = [float(np.mean(v)) for k, v in held.items() if k[1:] == (kind, epsilon)]
            if every:
                print(
                    kind,
                    epsilon,
                    f"{np.mean(every):.3f} of {len(every)}, tables {min(by):.3f}..{max(by):.3f} ({len(by)})",
                )
        print(kind, "unknown", f"{np.mean(unknown[kind]):.2f}" if unknown[kind] else "-")
    for key, v in wide.items():
        print("width / sample's own", key, f"median {np.median(v):.2f}, 90 % {np.quantile(v, 0.9):.2f}")


if __name__ == "__main__":
    main()
