"""Several synthesizers at several ε, repeated: experiments on real data, stamped INTERNAL.

Each cell (method, ε, repetition) is one simulated fit with its measurements in one JSON file. A cell that is there is
never run again, so a comparison that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from kagemusha.cluster import on_cluster
from kagemusha.errors import DataError, KagemushaError, OutputError, UsageError
from kagemusha.evaluation.evaluate import INTERNAL
from kagemusha.evaluation.kway import kway_errors
from kagemusha.evaluation.ml_utility import utility
from kagemusha.evaluation.mutual_information import compare_information
from kagemusha.evaluation.tables import read_table
from kagemusha.extras import need
from kagemusha.files import write_whole
from kagemusha.privacy.budget import Budget
from kagemusha.quality.projectable import CodedTable, require_column
from kagemusha.schema import Schema
from kagemusha.sources import CodesSource, Source, open_source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create
from kagemusha.version import __version__

Listener = Callable[[str, float], None]


@dataclass(frozen=True)
class ComparisonCell:
    """One simulated fit."""

    method: str
    epsilon: float
    repeat: int

    @property
    def name(self) -> str:
        """The name of its file, without the ending."""
        return f"{self.method}-{self.epsilon:g}-{self.repeat}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is to be compared; everything but the table."""

    methods: Sequence[str]
    epsilons: Sequence[float]
    repeat: int = 3
    budget: Budget = field(default_factory=lambda: Budget(1.0, 1e-9))
    """δ and adjacency; ε comes from `epsilons`."""
    kmax: int = 3
    target: str | None = None
    learners: Sequence[str] = ("tree", "logistic")
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.methods or not self.epsilons:
            raise UsageError("compare: at least one method and one epsilon are needed")
        for method in self.methods:
            create(method)
        for epsilon in self.epsilons:
            if not 0 < epsilon < float("inf"):
                raise UsageError(f"every epsilon must be a positive number, got {epsilon:g}")
        if self.repeat < 1:
            raise UsageError(f"repeat must be at least 1, got {self.repeat}")

    def cells(self) -> list[ComparisonCell]:
        """All cells; a first look at everything comes before the second repetition of anything."""
        return [ComparisonCell(m, e, r) for r in range(self.repeat) for e in self.epsilons for m in self.methods]

    def stamp(self, schema: Schema, table: str) -> str:
        """What the files of two runs must share to belong together; methods, ε and repetitions may be added later."""
        given = replace(self, methods=("aim",), epsilons=(1.0,), repeat=1)
        text = f"{__version__} {asdict(given)!r} {schema.digest()} {table}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """What a cell measured; `error` says why there is nothing."""

    cell: ComparisonCell
    scores: dict[str, float]
    seconds: float
    error: str = ""


def run_comparison(
    comparison: Comparison,
    table: Any,
    schema: Schema,
    folder: Path,
    *,
    jobs: int = -1,
    scheduler: str | None = None,
    progress: Listener | None = None,
) -> list[Result]:
    """Run every cell that has no file yet, on all cores, and return all results in the order of `cells`.

    `scheduler` is the address of a dask scheduler, whose workers are used instead; the codes of the table are sent to
    them. `table` is the path of a file or a frame. A method that cannot handle the table gives a result with its
    message.
    """
    say = progress or (lambda what, done: None)
    say("reading", 0.0)
    real = read_table(table, schema)
    if comparison.target is not None:
        require_column(real.domain, comparison.target)
    stamp = comparison.stamp(real.schema, real.digest)
    cells = comparison.cells()
    done = {cell: found for cell in cells if (found := _read(folder, cell, stamp)) is not None}
    waiting = [cell for cell in cells if cell not in done]
    try:
        (folder / "cells").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: could not be made ({error.strerror})") from None
    where = Place(folder, stamp, jobs, scheduler)
    for result in _run_all(comparison, table, real.schema, where, waiting):
        done[result.cell] = result
        say(f"{len(done)} of {len(cells)}: {result.cell.name}", len(done) / len(cells))
    return [done[cell] for cell in cells]


@dataclass(frozen=True)
class Place:
    """Where cells are kept, and where they are run."""

    folder: Path
    stamp: str
    jobs: int = -1
    scheduler: str | None = None

    def keep(self, result: Result) -> Result:
        """Write a result, whole or not at all."""
        document = {"INTERNAL": INTERNAL, "stamp": self.stamp, **asdict(result)}
        write_whole(_path(self.folder, result.cell), (json.dumps(document, indent=1) + "\n").encode())
        return result


def _run_all(
    comparison: Comparison, table: Any, schema: Schema, where: Place, cells: Sequence[ComparisonCell]
) -> Iterator[Result]:
    if where.scheduler is not None:
        yield from map(where.keep, _on_cluster(comparison, table, schema, cells, where.scheduler))
        return
    tasks = ((comparison, table, schema, where, cell) for cell in cells)
    if where.jobs == 1 or len(cells) < 2:
        yield from (_run(*task) for task in tasks)
        return
    joblib = need("joblib")
    yield from joblib.Parallel(n_jobs=where.jobs, return_as="generator_unordered")(
        joblib.delayed(_run)(*task) for task in tasks
    )


def _on_cluster(
    comparison: Comparison, table: Any, schema: Schema, cells: Sequence[ComparisonCell], scheduler: str
) -> Iterator[Result]:
    """The workers of a dask scheduler.

    The codes of the table are sent to each of them once; they need no file of ours.
    """
    if schema.unit.column is not None:
        raise UsageError(
            "on a cluster every row is a person of its own: compare a table with a [unit] column on this machine"
        )
    source, real = _opened(table, schema)
    codes = CodesSource(schema, source.records()[0])
    return on_cluster(scheduler, partial(_outcome_of, comparison), (codes, real), cells, kept="finished fits")


def _run(comparison: Comparison, table: Any, schema: Schema, where: Place, cell: ComparisonCell) -> Result:
    """Fit, sample, measure, write: one cell, whole or not at all."""
    return where.keep(_outcome_of(comparison, _opened(table, schema), cell))


def _outcome_of(comparison: Comparison, opened: tuple[Source, CodedTable], cell: ComparisonCell) -> Result:
    begun = time.perf_counter()
    try:
        scores, error = _measure(comparison, *opened, cell), ""
    except KagemushaError as failed:
        scores, error = {}, str(failed)
    return Result(cell, scores, time.perf_counter() - begun, error)


def _measure(comparison: Comparison, source: Source, real: CodedTable, cell: ComparisonCell) -> dict[str, float]:
    seed = int.from_bytes(hashlib.sha256(f"{comparison.seed} {cell}".encode()).digest()[:4])
    budget = replace(comparison.budget, epsilon=cell.epsilon)
    begun = time.perf_counter()
    model = fit(create(cell.method), source, budget, simulation=seed, allow_derived=True)
    scores: dict[str, float] = {}
    seconds = time.perf_counter() - begun
    rng = np.random.default_rng(seed)
    doubles = CodedTable.of_codes(real.schema, model.sample_codes(rng=rng))
    for k in range(1, min(comparison.kmax, len(real.domain)) + 1):
        scores[f"{k}-way error"] = kway_errors(real, doubles, k).mean
    if len(real.domain) > 1:
        scores["mutual information difference"] = compare_information(real, doubles).mean_absolute_difference
    if comparison.target is not None:
        learned = utility(real, doubles, comparison.target, models=comparison.learners)
        for name, values in learned.synthetic.items():
            scores[f"{learned.headline} ({name})"] = values[learned.headline]
    return {**scores, "fit seconds": seconds}


def _opened(table: Any, schema: Schema) -> tuple[Source, CodedTable]:
    if isinstance(table, str | PathLike):
        return _opened_file(str(table), schema.digest(), json.dumps(schema.to_json()))
    return open_source(table, schema), read_table(table, schema)


@lru_cache(maxsize=1)
def _opened_file(path: str, digest: str, document: str) -> tuple[Source, CodedTable]:
    """Each worker reads and encodes the file once."""
    schema = Schema.from_json(json.loads(document))
    source = open_source(path, schema)
    return source, read_table(source, schema)


def _path(folder: Path, cell: ComparisonCell) -> Path:
    return folder / "cells" / f"{cell.name}.json"


def _read(folder: Path, cell: ComparisonCell, stamp: str) -> Result | None:
    """A finished cell; one that failed, or that was damaged, is run again."""
    path = _path(folder, cell)
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        given, error = found["stamp"], found["error"]
        result = Result(cell, {str(k): float(v) for k, v in found["scores"].items()}, float(found["seconds"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if given != stamp:
        raise DataError(f"{folder}: holds a comparison of other data, schema or setting; choose another folder (--out)")
    return None if error else result
