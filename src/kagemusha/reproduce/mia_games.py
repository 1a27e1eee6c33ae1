"""The attack paper's games on Adult: which tables, targets, synthesizers and how much is played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.attacks.features import EXPANSIONS, SCALES, Space
from kagemusha.attacks.game import Game, Numbers, Rules
from kagemusha.attacks.inference.registry import inferences
from kagemusha.attacks.runner import play
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.synthesis.unclipped import UnclippedStat
from kagemusha.attacks.table import GameTable, read_table
from kagemusha.attacks.targets import Target, choose
from kagemusha.attacks.verdict import Finding, findings
from kagemusha.errors import DataError, UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.reproduce.paper_tables import data_folder
from kagemusha.schema import Category, Column, Integer, Schema

BINS = 20
WEIGHT = "fnlwgt"
CODES = Space("codes", "raw", (WEIGHT,))
"""The space that fits the paper's footnote (mean error : covariance error ≈ 1 : 10⁴)."""
ONEHOT = Space("onehot", "sd")
SPACES = tuple(Space(e, s, w) for e in EXPANSIONS for s in SCALES for w in ((), (WEIGHT,)))
"""Every space of the sweep."""

CLASSIFIERS = ("rf-naive", "lr-naive", "knn-naive", "rf-histogram", "lr-histogram", "rf-correlation")


@dataclass(frozen=True)
class Sizes:
    """How much is played: generations of exact fits, (trainings, generations) of noisy ones."""

    stat: int = 200
    """Tables from each of five trainings of each world."""
    exact: int = 50
    """The same for Bayesian networks."""
    onehot: int = 20
    noisy: tuple[int, int] = (30, 4)
    many: int = 100
    ours: int = 40
    together: int = 20
    learners: int = 2
    counts: Sequence[int] = (1, 10, 25, 50, 75, 100, 250, 500, 750, 1000)
    epochs: int = 0
    """Epochs of CTGAN; 0 leaves it out."""
    ctgan: tuple[int, int, int] = (5, 6, 3)
    """Trainings, tables from each, and trainings of the attacker's own, of each world."""


QUICK = Sizes(
    stat=2, exact=2, onehot=1, noisy=(3, 2), many=4, ours=3, together=2, learners=1, counts=(1, 10, 50), ctgan=(2, 1, 1)
)
FULL = Sizes(stat=500, onehot=50, together=50, noisy=(60, 8), many=300, ours=100, learners=5, ctgan=(15, 20, 15))


@dataclass(frozen=True, eq=False)
class Played:
    """A game, its findings, and the numbers it was judged by."""

    game: Game
    findings: Sequence[Finding]
    numbers: Mapping[str, Numbers]

    def of(self, target: str, inference: str, space: Space) -> Finding:
        """One cell."""
        return next(
            f
            for f in self.findings
            if (f.cell.target, f.cell.inference, f.cell.space) == (target, inference, space.name)
        )


@dataclass(frozen=True, eq=False)
class Adult:
    """The table in every whole number, and the schema with bins that networks learn from."""

    table: GameTable
    coarse: Schema
    income: str = "income"
    targets: Mapping[str, Target] = field(default_factory=dict)


def adult(rows: int | None = None) -> Adult:
    """Adult's 30,162 complete rows; domain and categories are those of the file, taken as public."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    path = data_folder() / "adult.parquet"
    if not path.exists():
        raise DataError(f"{path}: no such file (docs/data.md tells how to make it)")
    raw = pq.read_table(path)
    raw = raw.filter(pc.equal(raw["split"].cast("string"), "train")).drop_null().drop(["split"]).slice(0, rows)
    columns: list[Column] = []
    for name in raw.column_names:
        if str(raw[name].type).startswith("int"):
            ends = pc.min_max(raw[name])
            columns.append(Integer(name, lower=ends["min"].as_py(), upper=ends["max"].as_py()))
        else:
            labels = tuple(sorted(pc.unique(raw[name].cast("string")).to_pylist()))
            columns.append(Category(name, categories=labels, out_of_domain="clip"))
    return prepared(read_table(raw, Schema(columns)))


def prepared(table: GameTable) -> Adult:
    """A table with coarse bins for networks and the targets of both spaces."""
    coarse = table.schema
    for column in table.schema.modelled:
        if column.axis is not None and column.size > BINS:
            coarse = coarse.replace(column.name, bins=BINS)
    return Adult(table, coarse)


def targets(
    table: GameTable, space: Space, kinds: Sequence[str] = ("random", "selective", "adaptive", "blind")
) -> list[Target]:
    """The paper's three and the one chosen without the table; the random one is the same in every space."""
    return [choose(kind, table, space=space, rng=np.random.default_rng([7, i])) for i, kind in enumerate(kinds)]


def makers(data: Adult, sizes: Sizes) -> dict[str, Maker]:
    """Every synthesizer that is played, by the name of its results."""
    pure: dict[str, Any] = {"degree": 2, "accounting": "pure"}
    found: dict[str, Maker] = {
        "stat": UnclippedStat("codes"),
        "stat-onehot": UnclippedStat("onehot", "stat-onehot"),
        "bayes-net": Method("bayes-net", schema=data.coarse, independent=True),
        "dp-bn-data": _dp_bn(data, pure, "data"),
        "dp-bn": _dp_bn(data, pure, "declared"),
        "privbayes": Method("privbayes", Budget(1.0, 1e-9), schema=data.coarse),
        "kage": Method("kage", Budget(1.0, 1e-9), schema=data.coarse),
    }
    if sizes.epochs:
        if find_spec("torch") is None:
            raise UsageError("CTGAN needs torch: pip install 'kagemusha[neural]'; --ctgan-epochs 0 leaves CTGAN out")
        # every whole number, as its paper has it: it finds humps of its own
        found["ctgan"] = Method("ctgan", Budget(1.0), {"epochs": sizes.epochs})
    return found


def _dp_bn(data: Adult, options: Mapping[str, Any], domain: str) -> Method:
    label = "dp-bn" if domain == "declared" else "dp-bn-data"
    return Method("privbayes", Budget(1.0, 0.0), options, data.coarse, domain, independent=True, label=label)


class Hall:
    """Plays games one after another and keeps their plays under one folder."""

    def __init__(self, data: Adult, sizes: Sizes, folder: Path | None, jobs: int, progress: Progress = silent) -> None:
        self.data, self.sizes, self.folder, self.jobs, self.progress = data, sizes, folder, jobs, progress
        self.makers = makers(data, sizes)

    def play(
        self,
        name: str,
        maker: str,
        chosen: Sequence[Target],
        attacks: Sequence[str],
        spaces: Sequence[Space],
        rules: Rules,
    ) -> Played:
        """One game, judged."""
        made = self.makers[maker]
        game = Game(self.data.table, chosen, made, inferences(attacks), space=spaces, rules=rules, seed=1)
        folder = None if self.folder is None else self.folder / name
        numbers = play(game, folder, jobs=self.jobs, progress=self.progress)
        return Played(game, findings(game.judge(numbers), budget=made.promised, exact_fit=made.exact), numbers)
