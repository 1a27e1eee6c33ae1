"""Kage beside an oracle of its own family: what knowing every dependence beforehand, for nothing, would be worth.

    python benchmarks/zoo/oracle.py [--half train] [--tables a,b] [--epsilons 0.1,1,10] [--seeds 2]

The oracle measures what kage may measure, with kage's noise, model and rows. But it is told what no release may say:
how far each pair and triple is from independence and from its model, exactly and at no cost, so the whole budget goes
into columns and interactions; and of nine ways to spend it (how much noise a measurement is thought to keep × how
strongly cells are pulled towards independence) the one counts that came out best on the real table, over its seeds. It
is NOT private. It is no proven bound: a family with other models or other queries may pass it. Kage is run in the same
sitting, with the same schema, δ = 1e-9 and seeds. Finished tables are kept in benchmarks/results/oracle.csv; a page is
made of them.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pyarrow as pa
from measures import errors
from run import DELTA, schema_of

from kagemusha.arrays import FloatArray
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.queries.interactions import GroupedError, grouped
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.kage import interaction_fit, levels
from kagemusha.synthesizers.kage.beliefs import PairLook
from kagemusha.synthesizers.kage.constants import COLUMNS, INSTALMENTS, MANY
from kagemusha.synthesizers.kage.kage import Kage
from kagemusha.synthesizers.kage.rounds import Run, Shares
from kagemusha.synthesizers.protocol import Fitted
from tables import ZOO, Table

RESULTS = Path(__file__).parents[1] / "results"
LINES, PAGE = RESULTS / "oracle.csv", RESULTS / "oracle.md"
FIELDS = (
    "table", "half", "epsilon", "kage_one", "kage_two", "kage_three", "one", "two", "three", "kept", "least", "cpu",
)  # fmt: skip
KEPTS, LEASTS = (0.5, 0.75, 1.0), (0.05, 0.15, 0.5)
ALMOST_NOTHING = 1e-9


@dataclass(frozen=True)
class Truth:
    """The real table."""

    codes: np.ndarray
    sizes: Sequence[int]

    def counts(self, clique: Clique) -> np.ndarray:
        places = [int(name[1:]) for name in clique]
        shape = tuple(self.sizes[i] for i in places)
        flat = np.ravel_multi_index(tuple(self.codes[:, i] for i in places), shape)
        return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)

    def distances(self, query: GroupedError) -> FloatArray:
        """What the query would say without noise."""
        each = zip(query.candidates, query.groups, query.estimates, strict=True)
        return np.array([float(np.abs(grouped(self.counts(c), g) - e).sum()) for c, g, e in each])


@dataclass(frozen=True)
class Telling:
    """A curator that answers questions about distances exactly and charges nothing for them."""

    curator: Curator
    truth: Truth

    def __getattr__(self, name: str) -> Any:
        return getattr(self.curator, name)

    def answer(self, queries: Sequence[Any], costs: Sequence[float]) -> Any:
        if all(isinstance(query, GroupedError) for query in queries):
            return [NoisyVector(self.truth.distances(query), ALMOST_NOTHING) for query in queries]
        return self.curator.answer(queries, costs)


@dataclass(frozen=True, eq=False)
class KnownLook(PairLook):
    """Knows how far every pair really is from a model."""

    truth: Truth = field(kw_only=True)
    model_groups: Mapping[str, np.ndarray] = field(kw_only=True)

    def unknown(self, field: Any, others: Any) -> FloatArray:
        tables = field.project_soon(self.pairs)
        groups = [tuple(self.model_groups[name] for name in pair) for pair in self.pairs]
        return self.truth.distances(GroupedError(self.pairs, groups, list(tables)))


@dataclass
class KnowingRun(Run):
    """kage's loop, told what is so."""

    truth: Truth = field(kw_only=True)

    def look_at_pairs(self, pairs: list[Clique], shares: Shares) -> None:
        super().look_at_pairs(pairs, shares)
        if self.look is not None:
            self.look = KnownLook(**vars(self.look), truth=self.truth, model_groups=self.known.groups)


@dataclass(frozen=True, kw_only=True)
class Oracle(Kage):
    """Kage, told every distance."""

    truth: Truth

    def started(self, curator: Curator, *, progress: Progress = silent) -> Run:
        pairs = self._pairs(curator.domain)
        told: Any = Telling(curator, self.truth)
        run = KnowingRun(told, self.max_cells, self.importance, truth=self.truth)
        run.measure_columns(COLUMNS * curator.total)
        if pairs:
            run.look_at_pairs(pairs, Shares(COLUMNS, 0.0))
        return run

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        run, left = self.started(curator), curator.remaining
        instalments = INSTALMENTS if run.pairs <= MANY else INSTALMENTS[-1:]
        for upto in instalments:
            last = upto == instalments[-1]
            choice = run.allocate(paths=not last)
            if last and run.look_at_triples(choice):
                choice = run.allocate()
            run.measure(choice, curator.remaining - (1 - upto) * left)
            run.fit_model(last=last)
        return replace(run.fitted(), scores=None)


def found(method: Kage, table: Table, epsilon: float, seed: int) -> list[float]:
    """The errors of its rows."""
    frame = pa.table({f"c{i}": table.codes[:, i] for i in range(table.codes.shape[1])})
    model = fit(method, frame, Budget(epsilon, DELTA), schema=schema_of(table), simulation=seed)
    rows = model.sample_codes(len(table.codes), rng=np.random.default_rng(seed))
    return errors(table.codes, rows, table.sizes)


def beside(table: Table, epsilon: float, seeds: int) -> dict[str, object]:
    """Kage's mean errors and those of the oracle's best way."""
    begun = time.process_time()
    own = np.mean([found(Kage(), table, epsilon, seed) for seed in range(seeds)], axis=0)
    truth, ways = Truth(table.codes, table.sizes), {}
    for kept, least in product(KEPTS, LEASTS):
        with patch.object(interaction_fit, "LEAST", least), patch.object(levels, "KEPT", kept):
            oracle = Oracle(truth=truth)
            ways[kept, least] = np.mean([found(oracle, table, epsilon, seed) for seed in range(seeds)], axis=0)
    (kept, least), best = min(ways.items(), key=lambda way: float(way[1][1]))
    figures = dict(zip(FIELDS[3:9], [f"{x:.6f}" for x in (*own, *best)], strict=True))
    return {**figures, "kept": kept, "least": least, "cpu": f"{time.process_time() - begun:.0f}"}


def page(lines: Sequence[Mapping[str, str]], seeds: int) -> str:
    """The table and its means."""
    rows, by_epsilon = [], {}
    for line in lines:
        ratios = [float(line[f"kage_{d}"]) / float(line[d]) for d in ("one", "two", "three")]
        by_epsilon.setdefault(line["epsilon"], []).append(ratios)
        rows.append(f"| {line['table']} | {line['half']} | {line['epsilon']} | {float(line['kage_two']):.5f} | "
                    f"{float(line['two']):.5f} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |")  # fmt: skip
    means = [
        f"| {e} | {len(found)} | " + " | ".join(f"{x:.3f}" for x in np.exp(np.log(found).mean(axis=0))) + " | "
        f"{np.max(found, axis=0)[1]:.2f} |"
        for e, found in sorted(by_epsilon.items(), key=lambda item: float(item[0]))
    ]
    return "\n".join(
        [
            "# Kage beside an oracle", "",
            "Made by `python benchmarks/zoo/oracle.py`. The oracle is kage, told every distance exactly and for "
            "nothing, and afterwards which of nine ways to spend the budget came out best on the real table (least "
            f"two-way error, means of {seeds} seeds). It is not private, and no proven bound.", "",
            "Kage's error ÷ the oracle's, geometric means:", "",
            "| ε | tables | one-way | two-way | three-way | worst two-way |", "| --- | --- | --- | --- | --- | --- |",
            *means, "",
            "| table | half | ε | kage, two-way | oracle, two-way | ÷ one-way | ÷ two-way | ÷ three-way |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows, "",
        ]
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("train", "test", "both"), default="both")
    parser.add_argument("--tables", default="", help="names with commas between; all unless given")
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="run nothing: write the page of what is stored")
    args = parser.parse_args()
    lines: list[dict[str, str]] = []
    if LINES.exists():
        with LINES.open() as file:
            lines = list(csv.DictReader(file))
    done = {(line["table"], line["epsilon"]) for line in lines}
    wanted = [e for e in ZOO if args.half in (e.half, "both") and (not args.tables or e.name in args.tables.split(","))]
    for entry in () if args.page else wanted:
        table = None
        for epsilon in args.epsilons.split(","):
            if (entry.name, epsilon) in done:
                continue
            table = table or entry.load()
            line = beside(table, float(epsilon), args.seeds)
            key = {"table": entry.name, "half": entry.half, "epsilon": epsilon}
            lines.append({**key, **{k: str(v) for k, v in line.items()}})
            print(lines[-1], flush=True)
            lines.sort(key=lambda r: (r["half"], r["table"], float(r["epsilon"])))
            with LINES.open("w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(lines)
    PAGE.write_text(page(lines, args.seeds))


if __name__ == "__main__":
    main()
