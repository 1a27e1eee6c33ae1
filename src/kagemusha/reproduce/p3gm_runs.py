"""The runs behind `reproduce p3gm`: one small JSON file each, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.columns.modelled import Modelled
from kagemusha.errors import UsageError
from kagemusha.files import write_whole
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress
from kagemusha.reproduce.p3gm_data import IMAGES, NAMES, DataSet, coded, load
from kagemusha.reproduce.p3gm_options import COARSE, PICTURES, TABLE, taken, whole
from kagemusha.reproduce.p3gm_scores import coverage, image_scores, table_scores
from kagemusha.reproduce.stamps import code_of
from kagemusha.schema import Real, Schema
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

PLACES = {
    "p3gm-joint": "deep.p3gm",
    "p3gm": "deep.p3gm",
    "p3gm-wishart": "deep.p3gm",
    "ae": "deep.p3gm",
    "pgm": "deep.p3gm",
    "dp-vae": "deep.vae",
    "vae": "deep.vae",
    "dp-gm": "deep.dp_gm",
    "privbayes": "privbayes",
    "nigao": "nigao.nigao",
    "kage": "kage.kage",
    "real": "protocol",
}
"""Methods and where they are. `p3gm-joint` trains the label along: the paper's model. `nigao` and `kage` are ours."""

METHODS = tuple(PLACES)
PAPERS = ("p3gm-joint", "dp-gm", "privbayes", "vae", "pgm", "ae", "dp-vae", "real")
"""Rows that the paper has; the others are ours."""

DEEP = ("p3gm", "p3gm-joint", "ae", "pgm", "dp-vae", "vae", "dp-gm")
MOST_COARSE = 200
"""Columns that methods on tables of counts take here."""

LATENT = {"mnist": 20, "fashion": 20, "esr": 10, "isolet": 10, "adult": 20, "credit": 20}
BUDGET = Budget(1.0, 1e-5)
TUNED = (
    "Every method had three trials of its settings, declared beforehand, on data that this page does not score: tables "
    "on Bank (8,000 rows), pictures on 8,000 training pictures of MNIST judged on 4,000 other ones, with a budget as "
    "much larger as they are fewer (`kagemusha reproduce p3gm --search`). What scored best there was taken for all "
    "data sets; only `nigao` stays as it is by default, whatever scored best. Older choices were made on test data and "
    "stand: `p3gm`'s defaults (classes as components, full covariances, the share of EM) were picked among seven "
    "variants on MNIST's official test pictures and among two on ESR, and `nigao`'s constants were set on MNIST and "
    "ESR. Their scores there are optimistic; nothing was tuned on ISOLET, Adult or Credit."
)
"""What every page with these scores must say."""

SHOWN = 100
"""Pictures of a run that are kept for Figure 1."""


@dataclass(frozen=True)
class Settings:
    """How much of everything: `quick` is minutes, the committed run about two hours, `full` the paper's ten folds."""

    name: str
    folds: Mapping[str, int] = field(default_factory=dict)
    """Folds of each table, of ten; pictures have one official split."""
    runs: int = 1
    """Of each method on each fold."""
    picture_runs: int = 3
    """Of each method on pictures, which have one official split."""
    rows: int = 20_000
    """Doubles a classifier learns from, at most."""
    epochs: int = 2
    """Of the networks that judge pictures."""
    methods: Sequence[str] = METHODS
    pictures: Sequence[str] = IMAGES

    @property
    def data(self) -> list[str]:
        """The data sets, pictures first."""
        return [*self.pictures, *self.folds]

    def limited(self, only: Sequence[str], folds: int) -> Settings:
        """These data sets alone, and so many folds and runs of pictures at most."""
        unknown = sorted(set(only) - set(NAMES))
        if unknown:
            raise UsageError(f"a data set must be one of {', '.join(NAMES)}; got {unknown[0]!r}")
        tables = {name: min(n, folds) for name, n in self.folds.items() if not only or name in only}
        pictures = tuple(name for name in self.pictures if not only or name in only)
        return replace(self, folds=tables, pictures=pictures, picture_runs=min(self.picture_runs, folds))

    def jobs(self) -> list[tuple[str, int, str, int]]:
        """Data set, fold, method, seed; first folds and seeds first, so that a run stopped early has all methods."""
        found = []
        for turn in range(max([*self.folds.values(), self.picture_runs])):
            places = [(name, 0, turn) for name in self.pictures if turn < self.picture_runs]
            places += [(name, turn, seed) for name, n in self.folds.items() if turn < n for seed in range(self.runs)]
            found += [(name, fold, method, seed) for name, fold, seed in places for method in self.methods]
        return found


QUICK = Settings(
    "quick",
    {"esr": 2},
    rows=2_000,
    epochs=1,
    methods=("p3gm-joint", "p3gm", "dp-vae", "dp-gm", "nigao", "privbayes", "real"),
    pictures=(),
)
COMMITTED = Settings("committed", {"esr": 10, "adult": 10, "isolet": 10, "credit": 10}, rows=10_000, epochs=3)
FULL = Settings("full", {"esr": 10, "adult": 10, "isolet": 10, "credit": 10}, runs=3, rows=60_000, epochs=8)


@dataclass(frozen=True)
class Result:
    """One run: what it scored, what it took, and some of its pictures."""

    data: str
    method: str
    fold: int
    seed: int
    scores: Mapping[str, float]
    seconds: float
    """CPU seconds of the fit."""
    options: Mapping[str, Any] = field(default_factory=dict)
    pictures: Sequence[Sequence[int]] = ()
    note: str = ""
    code: str = ""
    """Digest of the code that made it."""


def options_of(method: str, data: DataSet) -> dict[str, Any]:
    """The settings of a method on a data set: those that the search took, and what the data decide."""
    kind = PICTURES if data.name in IMAGES else TABLE
    return whole(method, data.target, LATENT[data.name], kind, taken(method, kind))


def doubles_of(
    data: DataSet, method: str, seed: int, options: Mapping[str, Any], budget: Budget, rows: int
) -> tuple[Codes, float]:
    """Fit and draw; the CPU seconds of the fit."""
    begun = time.process_time()
    settings = dict(options)
    bins = int(settings.pop("bins", 0))
    schema, codes = coarse(data, bins) if bins else (data.schema, data.train)
    synthesizer = create("p3gm" if method == "p3gm-joint" else method, **settings)
    model = fit(synthesizer, coded(schema, codes), budget, simulation=seed)
    spent = time.process_time() - begun
    doubles = model.sample_codes(rows, rng=np.random.default_rng(seed))
    return (fine(data, schema, doubles) if bins else doubles), spent


def run_one(data: DataSet, method: str, seed: int, settings: Settings, fold: int = 0) -> Result:
    """Fit, draw as many doubles as there are people, and judge them."""
    options = options_of(method, data)
    if method in COARSE and len(data.schema.domain) > MOST_COARSE:
        return Result(data.name, method, fold, seed, {}, 0.0, options, note="too many columns")
    rows = min(settings.rows, len(data.train))
    if method == "real":
        doubles, spent = data.train[:rows], 0.0
    else:
        doubles, spent = doubles_of(data, method, seed, options, BUDGET, rows)
    if data.name in IMAGES:
        scores = image_scores(data, doubles, seed, epochs=settings.epochs) | {"coverage": coverage(data, doubles)}
        pictures = doubles[:SHOWN, :-1].astype(int).tolist() if seed == 0 else []
        return Result(data.name, method, fold, seed, scores, spent, options, pictures)
    scores = table_scores(data, doubles, seed) | {"coverage": coverage(data, doubles)}
    return Result(data.name, method, fold, seed, scores, spent, options)


def coarse(data: DataSet, bins: int) -> tuple[Schema, IntArray]:
    """The same rows with numbers of at most so many codes."""
    columns: list[Modelled] = []
    codes = []
    for axis, column in enumerate(data.schema.modelled):
        mine = data.train[:, axis].astype(np.int64)
        if column.sort == "number" and column.size > bins:
            columns.append(Real(column.name, lower=0.0, upper=1.0, bins=bins))
            mine = mine * bins // column.size
        else:
            columns.append(column)
        codes.append(mine)
    return Schema(columns), np.column_stack(codes)


def fine(data: DataSet, schema: Schema, doubles: Codes) -> Codes:
    """Coarse codes as the middle of what they stand for."""
    found = doubles.copy()
    for axis, (own, cut) in enumerate(zip(data.schema.modelled, schema.modelled, strict=True)):
        if own.size != cut.size:
            found[:, axis] = (2 * doubles[:, axis] + 1) * own.size // (2 * cut.size)
    return found


def all_runs(settings: Settings, folder: Path, *, credit: Path | None, progress: Progress) -> list[Result]:
    """Every data set, fold, method and repetition; what is there already, of the same code, is taken over."""
    folder.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    jobs = settings.jobs()
    loaded: tuple[tuple[str, int], DataSet] | None = None
    for done, (name, fold, method, seed) in enumerate(jobs):
        progress(f"{name}: {method}, fold {fold + 1}, run {seed + 1}", done / len(jobs))
        result = stored(path_of(folder, name, method, fold, seed), choices_of(settings, credit), code_behind(method))
        if result is None:
            if loaded is None or loaded[0] != (name, fold):
                loaded = ((name, fold), load(name, fold=fold, credit=credit))
            result = made(loaded[1], method, seed, settings, fold, folder, credit)
        results.append(result)
    return results


def made(
    data: DataSet, method: str, seed: int, settings: Settings, fold: int, folder: Path, credit: Path | None
) -> Result:
    """A run, written down."""
    try:
        result = run_one(data, method, seed, settings, fold)
    except UsageError as error:
        result = Result(data.name, method, fold, seed, {}, 0.0, note=str(error))
    result = replace(result, code=code_behind(method))
    text = json.dumps({"choices": choices_of(settings, credit), **asdict(result)})
    write_whole(path_of(folder, data.name, method, fold, seed), text.encode())
    return result


def path_of(folder: Path, name: str, method: str, fold: int, seed: int) -> Path:
    """The file of a run."""
    return folder / f"{name}-{method}-{fold}-{seed}.json"


def choices_of(settings: Settings, credit: Path | None) -> str:
    """What decides how a run comes out, beside its own name and the code."""
    return f"{settings.rows} {settings.epochs} {credit}"


def code_behind(method: str) -> str:
    """Today's digest of the code behind a method's runs."""
    return code_of(f"{__name__}:run_one", f"kagemusha.synthesizers.{PLACES[method]}")


def stored(path: Path, choices: str, code: str | None) -> Result | None:
    """A run whose file is there and was made by the same choices and code (None: any)."""
    if not path.exists():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    kept = data.pop("choices", "") == choices and code in (None, data["code"])
    return Result(**data) if kept else None
