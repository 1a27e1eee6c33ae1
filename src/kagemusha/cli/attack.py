"""`attack`: the membership game against a method, a release or a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kagemusha.cli.interrupt import stopping
from kagemusha.cli.options import (
    AdjacencyOption,
    DatasetOption,
    Delta,
    Epsilon,
    JsonOption,
    LedgerOption,
    Options,
    check_seed,
    parse_options,
)
from kagemusha.cli.output import fail, plain, progress_bar, say, say_json, say_table, warn
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.privacy.budget import Adjacency
from kagemusha.progress import part
from kagemusha.synthesizers.registry import DEFAULT, names

if TYPE_CHECKING:
    from kagemusha.attacks.synthesis.protocol import Maker
    from kagemusha.schema import Schema

METHOD_HELP = f"One of: {', '.join(names())}. Repeatable."
_TARGETS = "random, selective, adaptive, blind"


def attack(
    ctx: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="The real table: a CSV or Parquet file; a folder of them, where the schema declares several tables.",
            show_default=False,
        ),
    ],
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="The schema file (TOML); a release brings its own.")
    ] = None,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help=METHOD_HELP)] = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    option: Options = None,
    release: Annotated[
        Path | None,
        typer.Option("--release", help="A release folder: play with its method, options, promise and schema."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            help='A program that reads and writes CSV: "prog {in} {out}"; also {rows} and {seed}. Its promise, if it '
            "makes one, is --epsilon.",
        ),
    ] = None,
    targets: Annotated[str, typer.Option(help=f"Of {_TARGETS}; with commas between.")] = "random,selective,adaptive",
    attacks: Annotated[
        str | None,
        typer.Option(help="Attacks with commas between, or `all`; by default seven of them.", show_default=False),
    ] = None,
    together: Annotated[
        str | None, typer.Option(help="Also this many targets at once (of the last kind), such as 10,100.")
    ] = None,
    space: Annotated[
        str,
        typer.Option(help="codes or onehot / raw, minmax or sd, and columns left out: codes/raw-id. Commas between."),
    ] = "onehot/sd",
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", help="A column to guess from the others (attribute inference). Repeatable."),
    ] = None,
    trainings: Annotated[int, typer.Option(help="Independent trainings of every table.")] = 100,
    generations: Annotated[int, typer.Option(help="Synthetic tables drawn from each training.")] = 1,
    references: Annotated[int, typer.Option(help="Trainings of the attacker's own, of every table.")] = 30,
    shadows: Annotated[
        int, typer.Option(help="Shadow trainings on each side for the attack `shadow`: with few it is a lottery.")
    ] = 200,
    plays: Annotated[
        Path | None,
        typer.Option("--plays", help="Folder that keeps finished plays; the same command then goes on from them."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Report; by default NAME-attack-INTERNAL.html here.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler whose workers play instead.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same plays on any number of cores.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write even into a folder that holds a release.")] = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Attack a method, a release or any program, and see whether anyone can tell who was in the table.

    Thousands of tables are synthesised with and without a target, with simulated noise; nothing is released and nothing
    spent; the table's ledger records that first. Results are INTERNAL. Exits with 5 if the plays contradict the
    promise. An attack that fails proves nothing: see also `kagemusha audit`.
    """
    from kagemusha.attacks.campaign import Campaign
    from kagemusha.attacks.features import Space
    from kagemusha.attacks.game import Rules
    from kagemusha.attacks.inference.registry import DEFAULT as USUAL
    from kagemusha.attacks.inference.registry import NAMES, inferences
    from kagemusha.attacks.report import write_report
    from kagemusha.attacks.table import read_table
    from kagemusha.attacks.targets import names as target_names
    from kagemusha.attacks.threat import COUNTING, PAPER
    from kagemusha.evaluation.report import refuse_beside_release
    from kagemusha.privacy.budget import Budget
    from kagemusha.release.looks import note_look

    check_seed(seed)
    if jobs != -1 and jobs < 1:
        raise UsageError(f"--jobs must be at least 1, or -1 for all cores, got {jobs}")
    path = out or Path(f"{data.stem}-attack-INTERNAL.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out must end in .html, got {path.name!r}")
    if not force:
        refuse_beside_release(path)
    tried = NAMES if attacks == "all" else _listed(attacks) if attacks else USUAL
    inferences(tried)
    families = _several(schema, release)
    if families and not _said(ctx, "targets"):
        targets = "random,selective"  # made records have no rows behind them
    campaign = Campaign(
        targets=target_names(_listed(targets)),
        attacks=tried,
        together=[_whole(text) for text in _listed(together or "")],
        spaces=[Space.named(text) for text in _listed(space)],
        threat=COUNTING if "row-count" in tried else PAPER,
        rules=Rules(trainings=trainings, generations=generations, references=references, strangers=shadows),
        secrets=secret or (),
        seed=seed,
    )
    budget = Budget(epsilon, delta, Adjacency.named(adjacency))
    makers: Sequence[Maker]
    if families:
        from kagemusha.cli.related import attacked_families

        makers, table, notes = attacked_families(data, schema, method, budget, option, release, command)
        known = makers[0].tables.identity()
        warn(note_look(data, "attack", ledger=ledger, dataset=dataset, known=known))
    else:
        promises = _said(ctx, "epsilon") or _said(ctx, "delta")
        makers, declared, notes = _makers(schema, method, budget, option, release, command, promises)
        warn(note_look(data, "attack", ledger=ledger, dataset=dataset, encoding=declared.encoding))
    attacked = []

    def leave() -> NoReturn:
        going_on = "finished plays are kept: the same command goes on from there"
        fail(f"stopped; {going_on if plays else 'add --plays FOLDER to keep plays'}", 130)

    with stopping(leave), progress_bar(quiet=as_json) as progress:
        progress("reading", 0.0)
        table = table if families else read_table(data, declared)
        for i, maker in enumerate(makers):
            listener = part(progress, i / len(makers), (i + 1) / len(makers))
            folder = None if plays is None else plays / maker.name
            attacked.append(
                campaign.against(
                    maker, table, folder=folder, jobs=jobs, scheduler=scheduler, notes=notes, progress=listener
                )
            )
    write_report(attacked, path, title=data.name)
    if as_json:
        say_json({"report": str(path), "makers": [one.to_json() for one in attacked]})
    else:
        for one in attacked:
            say(f"[bold]{plain(one.game.maker.name)}[/]  {plain(one.verdict.words)}")
            rows = [
                [
                    f.cell.target,
                    f.cell.inference,
                    f"{f.accuracy.value:.3f}",
                    f"{f.accuracy.low:.3f} – {f.accuracy.high:.3f}",
                ]
                for f in sorted(one.findings, key=lambda f: f.p)[:9]
            ]
            say_table("", ["target", "attack", "right", "95 % interval"], rows)
            for risk in one.attributes:
                say(f"• {plain(risk.words)}")
        say(f"[bold]{plain(path)}[/]")
        say("[red]INTERNAL: made from real rows without a privacy charge. Do not publish.[/]")
    if any(one.verdict.broken for one in attacked):
        raise PrivacyError("the plays contradict the promise; see the report")


def _said(ctx: typer.Context, option: str) -> bool:
    """Whether an option was given."""
    return str(ctx.get_parameter_source(option)).endswith("COMMANDLINE")


def _several(schema: Path | None, release: Path | None) -> bool:
    """Whether tables that belong together are attacked."""
    from kagemusha.certificate.inventory import SCHEMA
    from kagemusha.files import declares_several

    where = schema if release is None else release / SCHEMA
    return where is not None and declares_several(where)


def _makers(
    schema: Path | None,
    method: list[str] | None,
    budget: object,
    option: list[str] | None,
    release: Path | None,
    command: str | None,
    promises: bool,
) -> tuple[list[Maker], Schema, list[str]]:
    """What is attacked, the schema of the table, and what a reader should know."""
    from kagemusha.attacks.campaign import method_of
    from kagemusha.attacks.synthesis.method import Method
    from kagemusha.attacks.synthesis.outside import Command
    from kagemusha.models.model import load_model
    from kagemusha.privacy.budget import Budget
    from kagemusha.schema import Schema as Declared

    assert isinstance(budget, Budget)
    if sum(given is not None for given in (release, command, method)) > 1:
        raise UsageError("give one of --method, --release and --command")
    if release is not None:
        if schema is not None:
            raise UsageError("--release brings its own schema; leave --schema out")
        model = load_model(release / "model.kage")
        maker, notes = method_of(model)
        return [maker], model.schema, notes
    if schema is None:
        raise UsageError("a table needs a schema: --schema FILE, or --release FOLDER")
    declared = Declared.load(schema)
    budget = replace(budget, rows=declared.unit.max_rows)  # the promise is about whom the schema says
    if command is not None:
        return [Command(command, promised=budget if promises else None)], declared, []
    chosen = dict.fromkeys(method or [DEFAULT])
    return [Method(name, budget, parse_options(option)) for name in chosen], declared, []


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _whole(text: str) -> int:
    if not text.isdigit():
        raise UsageError(f"--together takes whole numbers with commas between, got {text!r}")
    return int(text)
