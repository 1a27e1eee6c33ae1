"""Work on the workers of a dask scheduler: what they share is sent to each of them once, and tasks few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from kagemusha.errors import UsageError
from kagemusha.extras import need

PATIENCE = 20
"""Seconds to wait for a scheduler to answer."""

AHEAD = 4
"""Tasks per thread that are sent before the first one is done."""

Done = TypeVar("Done")
Task = TypeVar("Task")


def on_cluster(
    scheduler: str, work: Callable[[Any, Task], Done], shared: Any, tasks: Sequence[Task], *, kept: str
) -> Iterator[Done]:
    """What `work(shared, task)` gives, in the order in which tasks are done.

    `kept` says what survives where workers do not.
    """
    distributed = need("distributed", "cluster")
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"scheduler {scheduler!r} cannot be reached ({error})") from None
    waiting = iter(tasks)
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise UsageError(f"scheduler {scheduler!r} has no workers; start some with `dask worker {scheduler}`")
        sent = client.scatter(shared, broadcast=True, hash=False)

        def send(count: int) -> list[Any]:
            return [client.submit(work, sent, task, pure=False) for task in islice(waiting, count)]

        working = distributed.as_completed(send(AHEAD * threads))
        for future in working:
            try:
                done = future.result()
            except (distributed.KilledWorker, distributed.CancelledError, distributed.comm.CommClosedError) as error:
                raise UsageError(
                    f"the workers of {scheduler} were lost ({type(error).__name__}); {kept} are kept"
                ) from None
            working.update(send(1))
            yield done
