"""Options that several commands share."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any

import typer

from kagemusha.errors import UsageError

Epsilon = Annotated[
    float,
    typer.Option("--epsilon", "-e", help="How much may be revealed about one person: smaller is safer. 1 is common."),
]
Delta = Annotated[
    float,
    typer.Option("--delta", help="Chance that the promise fails; far below 1 / number of rows.", show_default=True),
]
AdjacencyOption = Annotated[
    str,
    typer.Option(
        "--adjacency", help="add-remove hides whether a person is in the table; replace makes the row count public."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
LanguageOption = Annotated[
    str | None,
    typer.Option(
        "--language",
        envvar="KAGEMUSHA_LANGUAGE",
        show_envvar=True,
        help="Language of what is said: en or ja; by default that of the terminal (LANG). Errors and help are English.",
        show_default=False,
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="KAGEMUSHA_LEDGER",
        show_envvar=True,
        help="The budget ledger: a file (by default kagemusha-ledger.db beside the data, so that nobody spends "
        "twice), or postgresql://host/database.",
    ),
]
DatasetOption = Annotated[
    str | None, typer.Option(help="Name of the data set in the ledger; by default its path.", show_default=False)
]
TableOption = Annotated[
    str | None,
    typer.Option("--table", help="The table of a database: patients, or schema.patients.", show_default=False),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--statement-timeout",
        help="Seconds that one statement of PostgreSQL may take; by default 3600.",
        show_default=False,
    ),
]
Policy = Annotated[str, typer.Option("--policy", help="Name of the cap to draw from, where a data set has several.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="A choice of the method, such as degree=3. Repeatable."),
]

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe", help="Write an apostrophe before texts that a spreadsheet would run as formulas."
    ),
]


def check_rows(rows: int | None) -> None:
    """Refuse a number of rows that no table can have, before anything is read or paid for."""
    from kagemusha.generators.generator import MAX_ROWS

    if rows is not None and not 1 <= rows <= MAX_ROWS:
        raise UsageError(f"--rows must be at least 1 and at most {MAX_ROWS:,}, got {rows}")


def check_seed(seed: int | None) -> None:
    """Refuse a seed that the generator does not take."""
    if seed is not None and seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")


def require_csv(kind: str, spreadsheet_safe: bool) -> None:
    """Refuse an escape that only CSV needs."""
    if spreadsheet_safe and kind != "csv":
        raise UsageError("--spreadsheet-safe is for CSV: Parquet says itself what is a text")


def ledger_path(ledger: str | None, data: str | Path | None) -> str | Path:
    """The ledger to use for a data set: the one named, else the one beside it."""
    from kagemusha.files import scheme_of
    from kagemusha.ledger.open import default_ledger

    if ledger is not None:
        return ledger if scheme_of(ledger) else Path(ledger)
    return default_ledger(data)


def parse_options(given: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE pairs; values are read as Python literals where they are, as text otherwise."""
    parsed: dict[str, Any] = {}
    for pair in given or []:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise UsageError(f"--option takes NAME=VALUE, got {pair!r}")
        try:
            parsed[name.replace("-", "_")] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            parsed[name.replace("-", "_")] = value
    return parsed
