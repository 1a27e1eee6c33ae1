"""Plays on all cores, or on a cluster.

Each finished run is a file, so that a run that was killed goes on where it was. What a run gives depends on the
game's seed and the run's name alone, so the number of workers and the order of work change nothing. A worker holds one
table, one model and a few numbers at a time; results go to disk, not into memory.
"""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock

import numpy as np

from kagemusha.attacks.game import Game, Numbers, Outcome, TrainingRun
from kagemusha.cluster import on_cluster
from kagemusha.errors import DataError, OutputError, UsageError
from kagemusha.extras import need
from kagemusha.files import write_whole
from kagemusha.progress import Progress, silent

INTERNAL = "INTERNAL: made from real rows without a privacy charge. Do not publish."


_ALONE = Lock()


def run(
    game: Game,
    folder: Path | None = None,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Play a game and score it. With a folder, finished runs are kept there and never played twice.

    `jobs` is the number of processes (−1: all cores); `scheduler` the address of a dask scheduler, whose workers are
    used instead.
    """
    results = play(game, folder, jobs=jobs, scheduler=scheduler, progress=progress)
    return game.judge(results)


def play(
    game: Game,
    folder: Path | None = None,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress = silent,
) -> dict[str, Numbers]:
    """The numbers of all runs, by name."""
    if jobs != -1 and jobs < 1:
        raise UsageError(f"jobs must be at least 1, or -1 for all cores, got {jobs}")
    runs = game.runs()
    found: dict[str, Numbers] = {}
    if folder is not None:
        _stamp(folder, game)
        found = {run.name: kept for run in runs if (kept := _read(folder, run)) is not None}
    waiting = [run for run in runs if run.name not in found]
    done = len(found)
    begun = time.monotonic()
    for run, numbers in _played(game, waiting, jobs, scheduler):
        if folder is not None:
            _write(folder, run, numbers)
        found[run.name] = numbers
        done += 1
        rate = (done - len(runs) + len(waiting)) / max(1e-9, time.monotonic() - begun)
        progress(f"{game.maker.name}: {done:,} of {len(runs):,} trainings, {rate:.1f} per second", done / len(runs))
    return found


def _played(
    game: Game, runs: Sequence[TrainingRun], jobs: int, scheduler: str | None
) -> Iterator[tuple[TrainingRun, Numbers]]:
    if scheduler is not None:
        return on_cluster(scheduler, _play_alone, game, runs, kept="plays in a folder")
    if jobs == 1 or len(runs) < 2:
        return ((run, game.play(run)) for run in runs)
    return _on_cores(game, runs, jobs)


def _on_cores(game: Game, runs: Sequence[TrainingRun], jobs: int) -> Iterator[tuple[TrainingRun, Numbers]]:
    """Processes of this game alone: what a worker remembers of one game would look like a leak in the next one."""
    joblib = need("joblib", "eval")
    # joblib sends quick runs several at a time, and never more than a few ahead: memory stays bounded
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    try:
        yield from parallel(joblib.delayed(_play)(game, run) for run in runs)
    finally:
        import_module("joblib.externals.loky").get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _play(game: Game, run: TrainingRun) -> tuple[TrainingRun, Numbers]:
    return run, game.play(run)


def _play_alone(game: Game, run: TrainingRun) -> tuple[TrainingRun, Numbers]:
    """One after the other in every process.

    What networks draw at their start depends on a state that threads would share.
    """
    with _ALONE:
        return _play(game, run)


def _stamp(folder: Path, game: Game) -> None:
    """Refuse a folder that holds plays of another game."""
    path = folder / "game.json"
    if path.exists():
        try:
            given = json.loads(path.read_text(encoding="utf-8"))["game"]
        except (OSError, ValueError, KeyError, TypeError):
            given = None
        if given != game.digest:
            raise DataError(f"{folder}: holds plays of another table, method or setting; choose another folder")
        return
    write_whole(path, json.dumps({"INTERNAL": INTERNAL, "game": game.digest}, indent=1).encode())


def _path(folder: Path, run: TrainingRun) -> Path:
    return folder / "units" / f"{run.name}.npz"


def _write(folder: Path, run: TrainingRun, numbers: Numbers) -> None:
    """Whole or not at all for a process that is killed; a file that a power cut damaged is noticed and played again."""
    buffer = io.BytesIO()
    np.savez(buffer, **{key: numbers[key] for key in sorted(numbers)})  # type: ignore[arg-type]
    path = _path(folder, run)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(buffer.getvalue())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path}: could not be written ({error.strerror})") from None


def _read(folder: Path, run: TrainingRun) -> Numbers | None:
    path = _path(folder, run)
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return {key: held[key] for key in held.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
