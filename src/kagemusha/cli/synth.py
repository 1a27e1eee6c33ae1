"""`synth`: the release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.caps import PAID_BEFORE, cap_told, closed_releases, first_cap_in_words, settle_cap
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
    check_rows,
    check_seed,
    ledger_path,
    parse_options,
    require_csv,
    witnesses_near,
)
from kagemusha.cli.output import plain, progress_bar, say, say_json, warn
from kagemusha.errors import UsageError
from kagemusha.privacy.unit import Adjacency
from kagemusha.progress import Progress, part
from kagemusha.synthesizers.registry import names

Method = Annotated[str, typer.Option("--method", "-m", help=f"One of: {', '.join(names())}.")]
SuitedMethod = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help=f"One of: {', '.join(names())}. By default the schema decides: nigao for pictures and tables of many numbers, "
        "else kage; `plan` tells why.",
        show_default=False,
    ),
]


def synth(
    data: Annotated[
        str,
        typer.Argument(
            help="The private table: a CSV or Parquet file, or several ('folder/*.parquet'); a database: postgresql://user@host/name, "
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
            help="A column that people will predict from the others: kage, nigao and the AIM family take special care of it. By default the "
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
            help="The most ε that all releases of this data set may cost together; set before the first one. Without it the first "
            "release's own ε becomes the cap."
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
    from kagemusha.certificate.keys import load_signing_key
    from kagemusha.certificate.verify import MOST_DELTA
    from kagemusha.door import publish
    from kagemusha.ledger import ledger_exists, ledger_shown, open_ledger
    from kagemusha.ledger.cap import Cap
    from kagemusha.models.folder import require_replaceable, require_writable
    from kagemusha.models.table_file import find_formulas
    from kagemusha.privacy.budget import Budget
    from kagemusha.schema import Schema
    from kagemusha.sources import OpenTable, Source, open_source, open_table
    from kagemusha.sources.images import is_images, open_images
    from kagemusha.synthesizers.fit import fit
    from kagemusha.synthesizers.registry import create
    from kagemusha.synthesizers.suited import suited
    from kagemusha.urls import scheme_of

    if (seed is not None) != simulation:
        raise UsageError(
            "--seed and --simulation go together: a release takes no seed, since whoever knows it can remove the noise"
        )
    budget = Budget(epsilon, delta, Adjacency.named(adjacency))
    if cap is not None and not epsilon <= cap:
        raise UsageError(f"--cap must be at least --epsilon ({epsilon:g}), got {cap:g}: this release would pass it")
    check_rows(rows)
    check_seed(seed)
    declared = Schema.load(schema)
    if target is not None:
        declared = declared.with_target(target)
    method = method or suited(declared).method
    synthesizer = create(method, **parse_options(option))
    if rows is not None and synthesizer.most_rows is not None and rows > synthesizer.most_rows:
        raise UsageError(
            f"--rows must be at most {synthesizer.most_rows:,}, got {rows:,}: method {method!r} releases so many rows and no "
            "more; pay for more with --option rows=N"
        )
    if discover is not None:
        if not 0 < discover < 1:
            raise UsageError(f"--discover must be greater than 0 and less than 1, got {discover}")
        if not declared.open_facts():
            raise UsageError(
                f"--discover {discover:g} has nothing to find: {schema} leaves no categories or bounds open"
            )
    if not simulation and delta > MOST_DELTA:
        raise UsageError(
            f"--delta must be at most {MOST_DELTA:g}, got {delta:g}: `verify` refuses a promise that fails more often"
        )
    address = scheme_of(data) is not None
    pictures = not address and is_images(Path(data))
    if output not in (None, "csv", "parquet"):
        raise UsageError(f"--format must be csv or parquet, got {output!r}")
    alike = "parquet" if pictures or (not address and Path(data).suffix.lower() in (".parquet", ".pq")) else "csv"
    kind = output or alike
    require_csv(kind, spreadsheet_safe)
    if sign is not None:
        load_signing_key(sign)  # a key that cannot sign is noticed before anything is spent
    folder = out or Path(f"{_stem(data, table)}-doubles")
    require_replaceable(folder, replace=force)
    if pictures:
        source: Source | OpenTable = open_images(Path(data), declared)
    else:
        opening = open_table if declared.open_facts() else open_source
        source = opening(data, declared, table=table, timeout=timeout)
    require_writable(folder)
    where = ledger_path(ledger, data)
    near = witnesses_near(data, folder, witness)
    if ledger_exists(where):
        # an older copy is refused before anything is made
        open_ledger(where, read_only=isinstance(where, Path), witnesses=near).close()
    name = dataset or source.name or data
    capped = replace(budget, epsilon=cap or budget.epsilon, rows=declared.unit.max_rows)
    made_before = closed_releases(where)
    known = settle_cap(where, Cap(name, policy, capped), asked=cap is not None)
    with progress_bar(quiet=as_json) as progress:
        model = fit(
            synthesizer,
            source,
            budget,
            ledger=where,
            dataset=name,
            policy=policy,
            key=key,
            simulation=seed,
            allow_derived=allow_derived,
            discover=discover,
            hold=True,
            progress=part(progress, 0.0, 0.65),
        )
        with _whole_without_quality(folder, part(progress, 0.65, 1.0)) as listener:
            certificate = publish(
                model,
                folder,
                rows=rows,
                file_kind=kind,
                replace=force,
                spreadsheet_safe=spreadsheet_safe,
                sign=sign,
                ledger=where,
                progress=listener,
            )
    if not spreadsheet_safe and kind == "csv":
        warn(find_formulas(model.schema).in_words())
    if as_json:
        say_json(
            {
                "folder": str(folder),
                "rows": rows or model.rows,
                "release": certificate.release,
                "ledger": ledger_shown(where),
                "epsilon": certificate.epsilon,
                "delta": delta,
                "adjacency": adjacency,
                "method": method,
                "broken because": certificate.broken_because,
                "files": certificate.outputs,
                "cap": cap_told(where, name, policy),
            }
        )
        return
    say(f"[bold]{plain(folder)}[/]")
    say(f"  synthetic.{kind:<12} {rows or model.rows:,} doubles")
    say("  certificate.html       what was promised, for people")
    say("  certificate.json       the same, for `kagemusha verify`")
    say("  quality.html           what the doubles can be used for, by their expected error (quality.json: the same)")
    if pictures:
        say("  pictures.png           some of them to look at")
    if sign is not None:
        say("  signature.json         who vouches for it, for `kagemusha verify --key`")
    say("  schema.toml, model.kage  to read and to draw more doubles (`kagemusha sample`)")
    if certificate.broken_because:
        say("[red bold]ε = ∞: this is not a private release.[/] " + plain("; ".join(certificate.broken_because)))
    else:
        say(
            f"Promise kept: {certificate.promised.in_words()}. It is about one {certificate.of_whom}. Ledger: {plain(ledger_shown(where))}"
        )
        if certificate.release in made_before:
            say(PAID_BEFORE)
        if not known:
            say(plain(first_cap_in_words(where, name, policy)))


def _stem(data: str, table: str | None) -> str:
    """What the output folder is named after: the file, or the table of a database; never an address."""
    from kagemusha.urls import scheme_of

    if scheme_of(data) is not None:
        named = table or data.rpartition("@")[2].rpartition("#")[2]
        return "".join(c if c.isalnum() or c in "-_" else "_" for c in named.rpartition(".")[2])[:60] or "table"
    return Path(data).stem.replace("*", "") or "table"


@contextmanager
def _whole_without_quality(folder: Path, progress: Progress) -> Iterator[Progress]:
    """Tells whoever stops the last part of the work that the release is there, whole."""
    told: list[str] = []

    def listener(what: str, done: float) -> None:
        told.append(what)
        progress(what, done)

    try:
        yield listener
    except BaseException:
        from kagemusha.door import JUDGING

        if JUDGING in told:
            warn(
                f"{folder} is a whole release; only its quality pages are missing. The same command with --force makes them, and "
                "pays nothing again"
            )
        raise
