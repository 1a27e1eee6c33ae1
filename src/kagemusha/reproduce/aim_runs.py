"""The AIM paper's runs: each arm, table and seed is a line of `runs.jsonl`, with the version and settings behind it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.evaluation.kway import kway_errors
from kagemusha.evaluation.ml_utility import classify
from kagemusha.evaluation.mutual_information import InformationMatrix, information_matrix
from kagemusha.files import write_whole
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.quality.projectable import CodedTable
from kagemusha.reproduce.paper_tables import PaperTable
from kagemusha.reproduce.stamps import code_of
from kagemusha.sources import FrameSource, Source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from kagemusha.version import __version__

LEARNERS = ("tree", "svm", "xgboost")
DELTA = 1e-9
SVM_ROWS = 10_000
TOP = 5
"""Pairs of the largest mutual information that a double should keep."""


@dataclass(frozen=True)
class Arm:
    """One way to read a method of the paper."""

    name: str
    method: str
    about: str
    options: Mapping[str, Any] = field(default_factory=dict)
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    domain: str = "seen"
    """Categories: those that are seen in the table, or those of the paper's Table 1."""
    learners: bool = False


_PRINTED = {"weights": "paper"}

ARMS = (
    Arm("aim-k2", "aim", "pairs; ours, fitted with 1/σ²", learners=True),
    Arm("aim-k3", "aim-k3", "triples", learners=True),
    Arm("aim-noinit", "aim-noinit", "no initialisation", learners=True),
    Arm("aim-lap", "aim-lap", "Laplace noise of equal ρ", learners=True),
    Arm(
        "bayes",
        "privbayes",
        "PrivBayes as the paper describes it: two parents, mutual information, pure ε = 1, half of it for the network",
        {"degree": 2, "score": "mutual-information", "accounting": "pure", "structure": 0.5},
        learners=True,
    ),
    Arm(
        "bayes ours",
        "privbayes",
        "our own PrivBayes: two parents, score R, zCDP",
        {"degree": 2},
        learners=True,
    ),
    Arm("aim-k2 printed", "aim", "fitted with 1/σ, as Algorithm 2 prints it", _PRINTED),
    Arm("aim-k3 printed", "aim-k3", "the same", _PRINTED),
    Arm("aim-noinit printed", "aim-noinit", "the same", _PRINTED),
    Arm("aim-lap printed", "aim-lap", "the same", _PRINTED),
    Arm("aim-lap pure", "aim-lap", "Laplace noise by pure composition: Σε = 1, δ = 0", {"accounting": "pure"}),
    Arm("bayes useful", "privbayes", "PrivBayes as ours is by default: as many parents as are useful"),
    Arm("aim-k2 Table 1", "aim", "categories of Table 1: workclass 8, month 12", domain="table 1"),
    Arm("aim-k2 replace", "aim", "replace adjacency, as Definition 2.1 reads", adjacency=Adjacency.REPLACE),
)
"""The paper's five methods first, then what else its text or its authors' code could mean."""

PLACES = {
    **dict.fromkeys(("aim", "aim-k3", "aim-noinit", "aim-lap"), "kagemusha.synthesizers.aim"),
    "privbayes": "kagemusha.synthesizers.privbayes",
}
"""Where the methods are."""

BY_NAME = {arm.name: arm for arm in ARMS}
PAPER = ("aim-k2", "aim-k3", "aim-noinit", "aim-lap", "bayes")
LARGE = ("aim-k2", "aim-k3", "aim-k2 printed")
"""Arms that are run at other ε, too."""
EPSILONS = (0.1, 5.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Result:
    """One run: what it was, and what came out. Everything the page says of runs is in these."""

    table: str
    arm: str
    epsilon: float
    seed: int
    errors: tuple[float, float, float]
    information_error: float
    information: tuple[float, ...]
    """Mutual information of every pair, in the order of the columns."""
    kept: float
    """How much of the mutual information of the five most dependent pairs is left: the mean of their ratios."""
    accuracy: Mapping[str, float]
    rounds: int
    paces: int
    """How often the pace changed before the last round."""
    seconds: float
    version: str
    code: str
    settings: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, float, int]:
        """Which run it is."""
        return self.table, self.arm, self.epsilon, self.seed


def source_of(table: PaperTable) -> Source:
    """The table as a source that can be fitted many times."""
    from kagemusha.encoding import Encoder

    codes = np.column_stack([table.table.column(name) for name in table.table.domain]).astype(np.int64)
    frame = Encoder(table.schema).decode(codes, rng=np.random.default_rng(0), like="pyarrow")
    return FrameSource(frame, table.schema)


def fitted(source: Source, arm: Arm, epsilon: float, seed: int, *, delta: float = DELTA) -> Model:
    """A model of one run; noise is simulated, so this is an experiment and not a release."""
    return fit(create(arm.method, **arm.options), source, Budget(epsilon, delta, arm.adjacency), simulation=seed)


def settings_of(arm: Arm, learners: Sequence[str]) -> dict[str, Any]:
    """All choices behind a run, as they stand in the code today."""
    synthesizer = create(arm.method, **arm.options)
    chosen = {name: _plain(value) for name, value in synthesizer.parameters().items()}
    fields: dict[str, Any] = {"method": synthesizer.name, "parameters": chosen, "delta": DELTA}
    fields |= {"adjacency": str(arm.adjacency), "domain": arm.domain}
    return fields | ({"learners": list(learners), "svm rows": SVM_ROWS} if arm.learners and learners else {})


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | None) else str(value)


def run_one(
    table: PaperTable, source: Source, arm: Arm, epsilon: float, seed: int, *, learners: Sequence[str]
) -> Result:
    """Fit, sample as many rows as the table has, and measure everything."""
    started = time.process_time()
    model = fitted(source, arm, epsilon, seed)
    codes = model.sample_codes(table.table.rows, rng=np.random.default_rng(seed))
    seconds = time.process_time() - started
    double = CodedTable.of_codes(table.schema, codes)
    one, two, three = (round(kway_errors(table.table, double, k).mean, 8) for k in (1, 2, 3))
    chosen = learners if arm.learners and epsilon == 1 else ()
    scores = classify(double, table.table, table.target, models=chosen, rows={"svm": SVM_ROWS}, seed=seed)
    real, ours = information_matrix(table.table), information_matrix(double)
    return Result(
        table.name,
        arm.name,
        epsilon,
        seed,
        (one, two, three),
        round(ours.mean_absolute_difference(real), 8),
        tuple(round(float(v), 5) for v in ours.pairs()),
        round(kept(real, ours), 5),
        {name: round(float(s["accuracy"]), 7) for name, s in scores.items()},
        len(model.trace),
        paces(model),
        round(seconds, 3),
        __version__,
        code_digests()[arm.method],
        settings_of(arm, chosen),
    )


def kept(real: InformationMatrix, ours: InformationMatrix) -> float:
    """The mean ratio of mutual information, ours to real, of the pairs that depend most on each other."""
    most = np.argsort(-real.pairs())[:TOP]
    return float((ours.pairs()[most] / np.maximum(1e-12, real.pairs()[most])).mean())


def paces(model: Model) -> int:
    """How often the noise of a round was smaller than that of the round before, the last round left out."""
    sigmas = [step.sigma for step in model.trace[:-1]]
    return sum(b < 0.99 * a for a, b in pairwise(sigmas))


@dataclass(frozen=True)
class Job:
    """A run to be made."""

    arm: Arm
    epsilon: float
    seed: int


def jobs(repeat: int, large: int, epsilons: Sequence[float] = EPSILONS) -> list[Job]:
    """Every arm at ε = 1, `repeat` times; some at other ε, `large` times."""
    plan = [Job(arm, 1.0, seed) for seed in range(repeat) for arm in ARMS]
    return plan + [Job(BY_NAME[name], e, seed) for e in epsilons for seed in range(large) for name in LARGE]


def all_runs(
    tables: Mapping[str, Mapping[str, PaperTable]],
    path: Path,
    plan: Sequence[Job],
    *,
    learners: Sequence[str],
    progress: Callable[[str, float], None],
) -> list[Result]:
    """Make every run that is not in the file yet, by the same code and settings; each is written when it ends.

    `tables` are, by name, the tables of each domain (`Arm.domain`).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    now = code_digests()
    done = {r.key: r for r in read_runs(path) if r.code == now[BY_NAME[r.arm].method]}
    wanted: list[Result] = []
    sources = {(name, kind): source_of(t) for name, kinds in tables.items() for kind, t in kinds.items()}
    total = len(plan) * len(tables)
    with path.open("a", encoding="utf-8") as file:
        for name, kinds in tables.items():
            for job in plan:
                progress(f"{name}: {job.arm.name}, ε = {job.epsilon:g}, run {job.seed + 1}", len(wanted) / total)
                found = done.get((name, job.arm.name, job.epsilon, job.seed))
                chosen = learners if job.epsilon == 1 else ()
                if found is None or found.settings != settings_of(job.arm, chosen):
                    kind = job.arm.domain
                    found = run_one(kinds[kind], sources[name, kind], job.arm, job.epsilon, job.seed, learners=chosen)
                    file.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
                    file.flush()
                wanted.append(found)
    # only what was asked for, in its order: what an earlier version left behind goes
    write_whole(path, "".join(json.dumps(asdict(r), ensure_ascii=False) + "\n" for r in wanted).encode())
    return wanted


def read_runs(path: Path) -> list[Result]:
    """The runs of a file; a line that was cut off by a crash is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            fields = json.loads(line)
            found.append(
                Result(**{**fields, "errors": tuple(fields["errors"]), "information": tuple(fields["information"])})
            )
        except (ValueError, TypeError, KeyError):
            continue
    return found


def code_digests() -> dict[str, str]:
    """Today's digest of the code behind each method."""
    return {method: code_of(f"{__name__}:run_one", PLACES[method]) for method in sorted({arm.method for arm in ARMS})}


def again(results: Sequence[Result], tables: Mapping[str, Mapping[str, PaperTable]]) -> list[bool]:
    """Whether each of these runs comes out the same with today's code."""
    same = []
    for one in results:
        arm = BY_NAME[one.arm]
        table = tables[one.table][arm.domain]
        chosen = tuple(one.settings.get("learners", ()))
        found = run_one(table, source_of(table), arm, one.epsilon, one.seed, learners=chosen)
        # what a run took and what made it may differ
        was = replace(one, seconds=found.seconds, version=found.version, code=found.code, settings=found.settings)
        same.append(found == was)
    return same
