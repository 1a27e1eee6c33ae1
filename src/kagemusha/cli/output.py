"""How the command line speaks: tables for people, JSON for machines, progress with time left."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from kagemusha.synthesizers.protocol import Progress, silent


def fail(message: str, code: int) -> NoReturn:
    """One line on the error stream, then leave."""
    sys.stderr.write(f"kagemusha: {message}\n")
    sys.exit(code)


def say(text: str = "") -> None:
    """A line for a person, with rich markup."""
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(text)


def say_json(data: Any) -> None:
    """One JSON document on the output stream."""
    sys.stdout.write(json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n")


def say_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A small table; numbers are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False)
    for i, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[i]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def _is_number(text: str) -> bool:
    try:
        float(text.strip("%∞≤~ ") or "0")
    except ValueError:
        return False
    return True


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """A progress listener that shows what is done, how far it is and how long it will still take."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("spent"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda what, done: bar.update(task, description=what, completed=done)
