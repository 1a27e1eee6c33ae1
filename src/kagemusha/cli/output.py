"""How the command line speaks: in which language, tables for people, JSON for machines, progress with time left."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kagemusha.cli.interrupt import heed
from kagemusha.files import shown
from kagemusha.progress import Progress
from kagemusha.words.catalogue import LANGUAGES, Say, catalogue, known_language, noted

if TYPE_CHECKING:
    from kagemusha.certificate.certificate import Certificate
    from kagemusha.ledger.cap import Cap


_asked: ContextVar[str | None] = ContextVar("language", default=None)


def ask_for(language: str | None) -> None:
    """Speak this language for the rest of the command; one that nobody knows is refused."""
    _asked.set(None if language is None else known_language(language))


def speech() -> Say:
    """How a sentence of the command line is said in the language that is spoken."""
    language = spoken()
    return str.format if language == "en" else catalogue(language, "cli", "schema")


def about(certificate: Certificate, words: Say) -> str:
    """Whom a promise is about."""
    return words("It is about one row.") if certificate.of_whom == "row" else words("It is about one person.")


def spoken() -> str:
    """The language that was asked for, or else that of the terminal; English where there is no catalogue."""
    asked = _asked.get()
    if asked is not None:
        return asked
    found = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    language = found.partition(".")[0].partition("_")[0].lower()
    return language if language in LANGUAGES else "en"


def fail(message: str, code: int) -> NoReturn:
    """One line on the error stream, then leave."""
    sys.stderr.write(f"kagemusha: {shown(message)}\n")
    sys.exit(code)


def warn(message: str) -> None:
    """One line on the error stream, if there is anything to say."""
    if message:
        sys.stderr.write(f"kagemusha: warning: {shown(message)}\n")


def show_bug() -> None:
    """Where a mistake of ours happened and what kind of error it was, for whoever mends it.

    What the error says is left out, its notes and causes too: libraries quote the values that they stumble over.
    """
    import traceback

    error = sys.exception()
    sys.stderr.write("kagemusha: this is a mistake of the program. Please report these lines, which quote no value:\n")
    for frame in traceback.extract_tb(None if error is None else error.__traceback__):
        sys.stderr.write(f"  {shown(frame.filename)}:{frame.lineno} in {shown(frame.name)}\n")
    sys.stderr.write(f"{type(error).__name__}\n")


def plain(value: object) -> str:
    """A name, path or sentence from outside as `say` shows it letter by letter.

    No markup, and nothing that moves a cursor.
    """
    from rich.markup import escape

    return escape(shown(value))


def say(text: str = "") -> None:
    """Lines for a person, with rich markup; whatever comes from outside goes in through `plain`."""
    from rich.console import Console

    # styles are added after this: nothing that came in could be one
    Console(highlight=False, soft_wrap=True, emoji=False).print("\n".join(map(shown, text.split("\n"))))


def say_json(data: Any) -> None:
    """One JSON document on the output stream."""
    sys.stdout.write(json_text(data) + "\n")


def json_text(data: Any) -> str:
    """Strict JSON: infinity is the text "inf", as in a certificate, and what is not a number is null.

    Characters that a screen would obey are written as escapes of JSON: a reader gets the very text.
    """
    text = json.dumps(_finite(data), indent=1, ensure_ascii=False, allow_nan=False, default=str)
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None if math.isnan(data) else str(float(data))
    return data


def say_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A small table, every cell shown letter by letter; numbers are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heading = Text(shown(title), style="bold") if title else None
    table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[i]) for row in rows)
        table.add_column(Text(shown(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
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
        yield lambda what, done: heed()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}", markup=False),
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

        def listen(what: str, done: float) -> None:
            heed()
            bar.update(task, description=shown(what), completed=done)

        yield listen


PAID_BEFORE = noted(
    "This release was made and paid for before: its answers were taken from the ledger, the doubles were drawn anew, "
    "and nothing was spent. Another release, to be paid for: the same command with --key NAME."
)


def cap_summary(cap: Cap | None) -> dict[str, Any] | None:
    """The cap after a release, for machines."""
    return None if cap is None else {"epsilon": cap.budget.epsilon, "delta": cap.budget.delta, "added up by": cap.rule}


def first_cap_in_words(ledger: str | Path, cap: Cap, words: Say = str.format) -> str:
    """What a first release, for which nobody set a cap, has left behind, and how to change that."""
    from kagemusha.ledger import ledger_shown

    more = replace(cap, budget=replace(cap.budget, epsilon=float(f"{2 * cap.budget.epsilon:.3g}")))
    return words(
        "Cap: nobody had set one, so the ledger now refuses releases of this table that take more than ε = "
        "{epsilon:.3g} together: this one used it up. To allow more, for example: {command}",
        epsilon=cap.budget.epsilon,
        command=f"{more.command()} --ledger {shlex.quote(ledger_shown(ledger))}",
    )
