"""The attack paper's games on Adult: which tables, targets, synthesizers and how much is played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.attacks.features import EXPANSIONS, SCALES, Space
from kagemusha.attacks.game import Game, Numbers, Outcome, Rules
from kagemusha.attacks.inference.protocol import INSIDE, WITHOUT
from kagemusha.attacks.inference.registry import inferences
from kagemusha.attacks.runner import play
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.synthesis.outside import Command
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.attacks.synthesis.rooted import RandomRoot
from kagemusha.attacks.synthesis.unclipped import UnclippedStat
from kagemusha.attacks.table import GameTable, read_table
from kagemusha.attacks.targets import Target, choose
from kagemusha.attacks.verdict import findings
from kagemusha.errors import DataError, UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.reproduce.mia_cells import PlayedCell
from kagemusha.reproduce.paper_tables import data_folder
from kagemusha.reproduce.stamps import code_of
from kagemusha.schema import Category, Column, Integer, Schema

BINS = 20
WEIGHT = "fnlwgt"
CODES = Space("codes", "raw", (WEIGHT,))
"""The space that fits the paper's footnote (mean error : covariance error ≈ 1 : 10⁴)."""
ONEHOT = Space("onehot", "sd")
MINMAX = Space("codes", "minmax")
"""The space in which most of the paper's claims on inferences hold."""

SPACES = tuple(Space(e, s, w) for e in EXPANSIONS for s in SCALES for w in ((), (WEIGHT,)))
"""Every space of the sweep."""

IN_CODES = tuple(space for space in SPACES if space.expansion == "codes")
IN_ONEHOT = tuple(space for space in SPACES if space.expansion == "onehot")

CLASSIFIERS = ("rf-naive", "lr-naive", "knn-naive", "rf-histogram", "lr-histogram", "rf-correlation", "tree-naive")


@dataclass(frozen=True)
class Sizes:
    """How much is played: (trainings of each world, tables from each). Attackers' references are as many trainings."""

    grid: tuple[int, int] = (20, 13)
    """STAT and Bayesian networks in every space of codes: 520 plays per cell."""
    onehot: tuple[int, int] = (8, 3)
    """The same in one-hot spaces, which take thirty times as long."""
    rows: tuple[int, int] = (3, 6)
    """Each of many random rows."""
    random_rows: int = 20
    blind: tuple[int, int] = (10, 10)
    """Each of several corners chosen without the table."""
    blind_rows: int = 5
    noisy: tuple[int, int] = (30, 4)
    many: int = 100
    ours: int = 40
    together: tuple[int, int] = (10, 20)
    rooted: tuple[int, int] = (20, 5)
    """Networks that begin with a column drawn at random, many targets at once."""
    shadows: int = 100
    """Strangers of the shadow attack."""
    outside: int = 10
    """Trainings of a program from outside; it makes one table of each."""
    command: str = ""
    """The line of that program, DataSynthesizer; empty leaves it out."""
    learners: int = 2
    counts: Sequence[int] = (1, 10, 25, 50, 75, 100, 250, 500, 750, 1000)
    epochs: int = 0
    """Epochs of CTGAN; 0 leaves it out."""
    ctgan: tuple[int, int] = (5, 6)


QUICK = Sizes(
    grid=(3, 3),
    onehot=(2, 1),
    rows=(2, 1),
    random_rows=2,
    blind=(2, 1),
    blind_rows=2,
    noisy=(3, 2),
    many=3,
    ours=3,
    together=(2, 2),
    rooted=(2, 2),
    shadows=3,
    outside=2,
    learners=1,
    counts=(1, 10, 50),
    ctgan=(2, 1),
)
FULL = Sizes(onehot=(20, 13), noisy=(60, 8), many=300, ours=100, together=(20, 13), learners=5, ctgan=(15, 20))


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


def targets(table: GameTable, *, blind: int = 0, rows: int = 0) -> list[Target]:
    """The paper's three, far off in one-hot coordinates; or so many blind corners; or so many random rows."""
    if rows:
        return [_named(f"random-{i}", "random", table, [7, i]) for i in range(rows)]
    if blind:
        return [_named(f"blind-{i}", "blind", table, [7, 3, i]) for i in range(blind)]
    return [_named(kind, kind, table, [7, i]) for i, kind in enumerate(("random", "selective", "adaptive"))]


def _named(name: str, kind: str, table: GameTable, seed: Sequence[int]) -> Target:
    found = choose(kind, table, space=ONEHOT, rng=np.random.default_rng(list(seed)))
    return Target(name, found.rows, found.members, found.distance)


def several(table: GameTable, count: int) -> Target:
    """So many adaptive targets, hidden together."""
    made = choose("adaptive", table, count=count, space=ONEHOT, rng=np.random.default_rng([8, count]))
    return Target(f"adaptive×{count}", made.rows, made.members, made.distance)


def makers(data: Adult, sizes: Sizes) -> dict[str, Maker]:
    """Every synthesizer that is played, by the name of its results."""
    pure: dict[str, Any] = {"degree": 2, "accounting": "pure"}
    found: dict[str, Maker] = {
        "stat": UnclippedStat("codes"),
        "stat-onehot": UnclippedStat("onehot", "stat-onehot"),
        "bayes-net": Method("bayes-net", schema=data.coarse, independent=True),
        "bayes-net-root": RandomRoot(data.coarse),
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
    if sizes.command:
        found["datasynthesizer"] = Command(sizes.command, "datasynthesizer")
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
    ) -> tuple[Game, Mapping[str, Numbers], list[PlayedCell]]:
        """One game, judged."""
        made = self.makers[maker]
        game = Game(self.data.table, chosen, made, inferences(attacks), space=spaces, rules=rules, seed=1)
        folder = None if self.folder is None else self.folder / name
        numbers = play(game, folder, jobs=self.jobs, progress=self.progress)
        outcome, code = game.judge(numbers), code_behind(maker)
        cells = []
        for one in game.inferences:
            # where fit and attack draw nothing at random, every table is a trial; references are drawn for a training
            exact = made.exact and not (one.references == "target" and rules.own)
            mine = Outcome(outcome.maker, {c: s for c, s in outcome.scores.items() if c.inference == one.name})
            for f in findings(mine, budget=made.promised, exact_fit=exact):
                plays = int(f.scores[:, WITHOUT].size + f.scores[:, INSIDE].size)
                n = len(f.scores) * (f.scores.shape[2] if exact else 1)
                where = (name, f.cell.target, f.cell.space, f.cell.inference)
                cells.append(PlayedCell(*where, f.accuracy, n, plays, f.constant, code))
        return game, numbers, cells


METHODS = {
    "stat": "attacks.synthesis.unclipped",
    "stat-onehot": "attacks.synthesis.unclipped",
    "bayes-net": "synthesizers.privbayes",
    "bayes-net-root": "synthesizers.privbayes",
    "dp-bn-data": "synthesizers.privbayes",
    "dp-bn": "synthesizers.privbayes",
    "privbayes": "synthesizers.privbayes",
    "kage": "synthesizers.kage.kage",
    "ctgan": "synthesizers.ctgan",
    "datasynthesizer": "attacks.synthesis.outside",
}
"""Where what is played is."""


def code_behind(maker: str) -> str:
    """Today's digest of the code behind the games of a synthesizer."""
    begun = (f"{__name__}:{name}" for name in ("Hall", "adult", "targets", "several"))
    return code_of(*begun, "kagemusha.attacks.inference.registry", f"kagemusha.{METHODS[maker]}")
