"""`synth`: the release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from kagemusha.certificate.acceptance import answers
from kagemusha.certificate.inventory import PICTURES, is_required_table
from kagemusha.cli.options import (
    AdjacencyOption,
    Delta,
    Epsilon,
    JsonOption,
    LedgerOption,
    Options,
    Policy,
    SpreadsheetSafe,
    TableOption,
    TimeoutOption,
    ledger_path,
    parse_options,
)
from kagemusha.cli.output import (
    PAID_BEFORE,
    about,
    cap_summary,
    first_cap_in_words,
    plain,
    progress_bar,
    say,
    say_json,
    speech,
    warn,
)
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Adjacency
from kagemusha.progress import Progress
from kagemusha.synthesizers.registry import names
from kagemusha.words.catalogue import noted

REQUIRED = noted("a table that must be right: noisy counts with intervals, and the doubles' own")
QUALITY = noted("what the doubles can be used for, by their expected error (quality.json: the same)")

Method = Annotated[str, typer.Option("--method", "-m", help=f"One of: {', '.join(names())}.")]
SuitedMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help=f"One of: {', '.join(names())}. By default the schema decides: nigao for pictures and tables of many "
        "numbers, else kage; `plan` tells why.",
        show_default=False,
    ),
]


def synth(
    data: Annotated[
        str,
        typer.Argument(
            help="The private table: a CSV or Parquet file, or several ('folder/*.parquet'); a database: "
            "postgresql://user@host/name, "
            "duckdb:///file.db, spark://, with --table; pictures: an .npz file (x, y) or a folder of PNG files.",
            show_default=False,
        ),
    ],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The schema file (TOML).", show_default=False)],
    table: TableOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write; by default NAME-doubles.")] = None,
    output: Annotated[
        str | None,
        typer.Option("--format", help="csv or parquet; by default like the file that came in, csv for databases."),
    ] = None,
    timeout: TimeoutOption = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    method: SuitedMethod = None,
    option: Options = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            help="A column that people will predict from the others: kage, nigao and the AIM family take special care "
            "of it. By default the "
            'schema\'s own (target = "…").',
            show_default=False,
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows to write; by default as many as the noisy count says.")] = None,
    ledger: LedgerOption = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set in the ledger; by default its path.")
    ] = None,
    policy: Policy = "default",
    cap: Annotated[
        float | None,
        typer.Option(
            help="The most ε that all releases of this data set may cost together; set before the first one. Without "
            "it the first release's own ε becomes the cap."
        ),
    ] = None,
    key: Annotated[str, typer.Option(help="Name of this release; another key makes (and pays for) another one.")] = "",
    seed: Annotated[
        int | None, typer.Option(help="For experiments: reproducible noise. The result is a simulation, not a release.")
    ] = None,
    simulation: Annotated[
        bool, typer.Option("--simulation", help="Allow --seed; the certificate then says ε = ∞.")
    ] = False,
    allow_derived: Annotated[
        bool, typer.Option("--allow-derived", help="Go on with unconfirmed facts in the schema; ε = ∞.")
    ] = False,
    discover: Annotated[
        float | None,
        typer.Option(
            help="Share of the budget for finding categories and bounds the schema leaves open, such as 0.05."
        ),
    ] = None,
    witness: Annotated[
        Path | None,
        typer.Option(help="A copy of the ledger's .head file kept elsewhere; an older ledger is then refused."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", help="Sign the release with this private key (`kagemusha key new`).", show_default=False
        ),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output folder.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a synthetic table with a certificate.

    The release is paid for in the ledger before the table is read. If it is interrupted, the same command goes on
    from what was already answered and pays nothing again.
    """
    from kagemusha.files import declares_several
    from kagemusha.folder.table_file import find_formulas
    from kagemusha.ledger import ledger_shown
    from kagemusha.making import Order, Output, make_release
    from kagemusha.making.order import usual_folder, usual_kind
    from kagemusha.privacy.budget import Budget
    from kagemusha.quality.words import strays_in_words

    if (seed is not None) != simulation:
        raise UsageError(
            "--seed and --simulation go together: a release takes no seed, since whoever knows it can remove the noise"
        )
    with progress_bar(quiet=as_json) as progress:
        where, options = ledger_path(ledger, data), parse_options(option)
        several = declares_several(schema)
        budget = Budget(epsilon, delta, Adjacency.named(adjacency))
        wanted = Output(
            folder=out or usual_folder(data, table),
            rows=rows,
            file_kind=output or ("csv" if several else usual_kind(data)),
            replace=force,
            spreadsheet_safe=spreadsheet_safe,
            sign=sign,
        )
        order = Order(
            table=data,
            place=table,
            timeout=timeout,
            schema=schema,
            budget=budget,
            method=method,
            options=options,
            target=target,
            ledger=where,
            dataset=dataset,
            policy=policy,
            cap=cap,
            key=key,
            simulation=seed,
            allow_derived=allow_derived,
            discover=discover,
            witness=witness,
            output=wanted,
        )
        if several:
            from kagemusha.cli.related import synth_related

            synth_related(order, where, progress, as_json=as_json)
            return
        with _whole_without_quality(wanted.path, progress) as listener:
            made = make_release(order, progress=listener)
    certificate, kind = made.certificate, wanted.file_kind
    words = speech()
    strays = strays_in_words(certificate, made.model.rows, words)
    if not spreadsheet_safe and kind == "csv":
        warn(find_formulas(made.model.schema).in_words())
    if as_json:
        say_json(
            {
                "folder": str(wanted.path),
                "rows": made.rows,
                "release": certificate.release,
                "ledger": ledger_shown(where),
                "epsilon": certificate.epsilon,
                "delta": delta,
                "adjacency": adjacency,
                "method": made.method,
                "broken because": certificate.broken_because,
                "files": certificate.outputs,
                "cap": cap_summary(made.cap),
                "cells out of place": strays,
                "acceptance": certificate.parameters.get("acceptance", []),
            }
        )
        return
    say(f"[bold]{plain(wanted.path)}[/]")
    say(f"  synthetic.{kind:<12} {words('{rows:,} doubles', rows=made.rows)}")
    say(f"  certificate.html       {words('what was promised, for people')}")
    say(f"  certificate.json       {words('the same, for `kagemusha verify`')}")
    say(f"  quality.html           {words(QUALITY)}")
    if PICTURES in (certificate.outputs or {}):
        say(f"  pictures.png           {words('some of them to look at')}")
    if sign is not None:
        say(f"  signature.json         {words('who vouches for it, for `kagemusha verify --key`')}")
    for name in filter(is_required_table, certificate.outputs or {}):
        say(plain(f"  {name:<22} {words(REQUIRED)}"))
    say(f"  schema.toml, model.kage  {words('to read and to draw more doubles (`kagemusha sample`)')}")
    for sentence in strays:
        warn(sentence)
    for one in answers(certificate) if "acceptance" in certificate.parameters else ():
        say(f"Accepted?   {plain('{criterion}: {answer} ({found})'.format(**one))}")
    if certificate.package is not None:
        package = certificate.package
        say(plain(words("The method is code of {package}: its reading of the table was not checked.", package=package)))
    if certificate.broken_because:
        why = plain("; ".join(certificate.broken_because))
        say(f"[red bold]{words('ε = ∞: this is not a private release.')}[/] {why}")
        return
    kept = words("Promise kept: {promise}.", promise=certificate.promised.in_words(words))
    say(f"{kept} {about(certificate, words)} {words('Ledger: {ledger}', ledger=plain(ledger_shown(where)))}")
    if made.paid_before:
        say(words(PAID_BEFORE))
    if not made.capped_before and made.cap is not None:
        say(plain(first_cap_in_words(where, made.cap, words)))


@contextmanager
def _whole_without_quality(folder: Path, progress: Progress) -> Iterator[Progress]:
    """Says to whoever stops the last part of the work that the release is there, whole."""
    seen: list[str] = []

    def listener(what: str, done: float) -> None:
        seen.append(what)
        progress(what, done)

    try:
        yield listener
    except BaseException:
        from kagemusha.making.release import JUDGING

        if JUDGING in seen:
            warn(
                f"{folder} is a whole release; only its quality pages are missing. The same command makes them, and "
                f"pays nothing again"
            )
        raise
