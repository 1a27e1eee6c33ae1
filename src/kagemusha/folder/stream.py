"""Doubles in chunks: as many as are wanted, in memory that does not grow with them, on several cores.

What is drawn in chunks has the statistics of what is drawn at once. Generators of independent rows draw each chunk
anew. A Markov field fixes the counts of all rows first and deals them out (`MarkovGenerator.hands`), so that its low
error holds for the whole table, not for each chunk alone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.generators.generator import Evidence, Generator
from kagemusha.generators.markov import TRADED, MarkovGenerator
from kagemusha.models.model import Model, Requirement, checked_rows
from kagemusha.progress import Progress, silent

CODES = 1 << 22
"""Codes of a chunk, 32 MB; what they are decoded to takes about twice as much."""

FEWEST, MOST_JOBS = 1 << 16, 4


def stream(
    model: Model,
    rows: int | None = None,
    *,
    rng: np.random.Generator | None = None,
    where: str | None = None,
    jobs: int | None = None,
    chunk: int | None = None,
    progress: Progress = silent,
) -> Iterator[Any]:
    """Arrow tables of doubles that together have `rows` rows; the same for a given `rng`, whatever the `jobs`.

    Up to `TRADED` rows come in one chunk and are exactly what `Model.sample` draws.
    """
    count = checked_rows(model.rows if rows is None else rows)
    rng = rng or np.random.default_rng()
    step = chunk or max(FEWEST, CODES // max(1, len(model.domain)))
    sizes = [count] if count <= TRADED and chunk is None else _split(count, step)
    condition = model.condition(where)
    progress("drawing doubles", 0.0)
    done = 0
    calls = _calls(model.generator, sizes, rng, condition.evidence)
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    tasks = (
        partial(_table, model, call, first, condition, rng if len(sizes) == 1 else rng.spawn(1)[0])
        for call, first in zip(calls, firsts, strict=True)
    )
    for table in _side_by_side(tasks, jobs or min(MOST_JOBS, cores())):
        yield table
        done += table.num_rows
        progress("drawing doubles", done / count)


def _split(count: int, step: int) -> list[int]:
    """Chunks of nearly one size."""
    parts = -(-count // step)
    return [count * (i + 1) // parts - count * i // parts for i in range(parts)]


def _calls(
    generator: Generator, sizes: list[int], rng: np.random.Generator, where: Evidence
) -> Iterator[Callable[[], IntArray]]:
    if isinstance(generator, MarkovGenerator) and len(sizes) > 1:
        yield from generator.hands(sizes, rng=rng, where=where)
        return
    for size in sizes:
        yield partial(generator.sample, size, rng=rng if len(sizes) == 1 else rng.spawn(1)[0], where=where)


def _table(
    model: Model, call: Callable[[], IntArray], first: int, condition: Requirement, rng: np.random.Generator
) -> Any:
    return model.decoded(call(), condition, rng=rng, like="pyarrow", first=first)


def _side_by_side(tasks: Iterator[Callable[[], Any]], jobs: int) -> Iterator[Any]:
    """Results in order; as many tasks as jobs are under way, and no more results wait than that."""
    if jobs == 1:
        for task in tasks:
            yield task()
        return
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[Future[Any]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def cores() -> int:
    """Processors that this process may use, where the system tells; else all there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
