"""The AIM paper's runs: five methods (and ours), three repetitions, one small JSON file each, so that nothing is lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kagemusha.evaluation.kway import kway_errors
from kagemusha.evaluation.ml_utility import classify
from kagemusha.evaluation.mutual_information import information_matrix
from kagemusha.files import write_whole
from kagemusha.models.model import Model
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable
from kagemusha.reproduce.paper_tables import PaperTable
from kagemusha.sources import FrameSource, Source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

METHODS = {
    "aim-k2": "aim",
    "aim-k3": "aim-k3",
    "aim-noinit": "aim-noinit",
    "aim-lap": "aim-lap",
    "bayes": "privbayes",
    "kage": "kage",
}
"""The paper's names, and ours at the end → names in the registry."""

LEARNERS = ("tree", "svm", "xgboost")
DELTA = 1e-9


@dataclass(frozen=True)
class Result:
    """One run: errors of generated rows, accuracy on real rows, mutual information."""

    method: str
    seed: int
    errors: tuple[float, float, float]
    accuracy: dict[str, float]
    information: list[list[float]]
    information_error: float


def source_of(table: PaperTable) -> Source:
    """The table as a source that can be fitted many times."""
    from kagemusha.encoding import Encoder

    codes = np.column_stack([table.table.column(name) for name in table.table.domain]).astype(np.int64)
    frame = Encoder(table.schema).decode(codes, rng=np.random.default_rng(0), like="pyarrow")
    return FrameSource(frame, table.schema)


def fitted(source: Source, method: str, epsilon: float, seed: int, *, delta: float = DELTA) -> Model:
    """A model of one run; noise is simulated, so this is an experiment and not a release."""
    return fit(create(METHODS.get(method, method)), source, Budget(epsilon, delta), simulation=seed)


def run_one(
    table: PaperTable, source: Source, method: str, seed: int, *, learners: Sequence[str], quick: bool
) -> Result:
    """Fit, sample as many rows as the table has, and measure everything."""
    model = fitted(source, method, 1.0, seed)
    codes = model.sample_codes(table.table.rows, rng=np.random.default_rng(seed))
    double = CodedTable.of_codes(table.schema, codes)
    one, two, three = (kway_errors(table.table, double, k).mean for k in (1, 2, 3))
    rows = {"svm": 3_000 if quick else 10_000}
    scores = classify(double, table.table, table.target, models=learners, rows=rows, seed=seed) if learners else {}
    real, ours = information_matrix(table.table), information_matrix(double)
    return Result(
        method,
        seed,
        (one, two, three),
        {name: float(s["accuracy"]) for name, s in scores.items()},
        ours.values.tolist(),
        ours.mean_absolute_difference(real),
    )


def all_runs(
    table: PaperTable,
    folder: Path,
    *,
    repeat: int,
    learners: Sequence[str],
    quick: bool,
    progress: Callable[[str, float], None],
) -> list[Result]:
    """Every method, `repeat` times; a run whose file is there, made by the same code and choices, is not repeated."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = f"{code_digest()} {' '.join(learners)} {'quick' if quick else 'whole'}"
    source = source_of(table)
    jobs = [(method, seed) for method in METHODS for seed in range(repeat)]
    results = []
    for done, (method, seed) in enumerate(jobs):
        progress(f"{table.name}: {method}, run {seed + 1}", done / len(jobs))
        path = folder / f"{table.name}-{method}-{seed}.json"
        result = _stored(path, stamp)
        if result is None:
            result = run_one(table, source, method, seed, learners=learners, quick=quick)
            write_whole(path, json.dumps({"stamp": stamp, **result.__dict__}).encode())
        results.append(result)
    return results


def _stored(path: Path, stamp: str) -> Result | None:
    if not path.exists():
        return None
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.pop("stamp", "") != stamp:
        return None
    return Result(**{**data, "errors": tuple(data["errors"])})


def code_digest() -> str:
    """Which code made a result: a digest of all of the package's sources."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
