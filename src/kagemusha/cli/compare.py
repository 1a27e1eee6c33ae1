"""`compare`: several synthesizers at several ε, repeated, on all cores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from kagemusha.cli.interrupt import stopping
from kagemusha.cli.options import AdjacencyOption, DatasetOption, Delta, JsonOption, LedgerOption, check_seed
from kagemusha.cli.output import fail, plain, progress_bar, say, say_json, say_table, warn
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Adjacency


def compare(
    real: Annotated[Path, typer.Argument(help="The real table: a CSV or Parquet file.", show_default=False)],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The schema file (TOML).", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder for cells, tables and report.", show_default=False)],
    methods: Annotated[str, typer.Option(help="Methods, with commas between.")] = "kage,aim,mst,independent",
    epsilons: Annotated[str, typer.Option(help="Values of ε, with commas between.")] = "0.1,1,10",
    repeat: Annotated[int, typer.Option(help="Fits for each method and ε.")] = 3,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    target: Annotated[str | None, typer.Option("--target", "-t", help="A column to predict from the others.")] = None,
    degree: Annotated[int, typer.Option("--degree", "-k", help="Largest sets of columns to compare.")] = 3,
    seed: Annotated[int, typer.Option(help="Another seed gives other noise.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a dask scheduler whose workers fit instead, such as tcp://host:8786.", show_default=False
        ),
    ] = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run several methods at several ε and draw error against ε, with error bars.

    These are simulations: they read the real table without a charge, which its ledger records first, so the results are
    INTERNAL. Every finished fit is kept; stopped with Ctrl-C, the same command goes on where it was.
    """
    from kagemusha.evaluation.compare import Comparison, run_comparison
    from kagemusha.evaluation.compare_report import summarise, write_comparison
    from kagemusha.evaluation.evaluate import INTERNAL
    from kagemusha.evaluation.report import refuse_beside_release
    from kagemusha.privacy.budget import Budget
    from kagemusha.release.looks import note_look
    from kagemusha.schema import Schema

    check_seed(seed)
    if jobs != -1 and jobs < 1:
        raise UsageError(f"--jobs must be at least 1, or -1 for all cores, got {jobs}")
    comparison = Comparison(
        methods=_listed(methods),
        epsilons=[_number(text) for text in _listed(epsilons)],
        repeat=repeat,
        budget=Budget(1.0, delta, Adjacency.named(adjacency)),
        kmax=degree,
        target=target,
        seed=seed,
    )
    refuse_beside_release(out / "comparison.html")
    declared = Schema.load(schema)
    warn(note_look(real, "compare", ledger=ledger, dataset=dataset, encoding=declared.encoding))

    def leave() -> NoReturn:
        kept = len(list((out / "cells").glob("*.json")))
        fail(f"stopped. {kept} of {len(comparison.cells())} fits are kept: the same command goes on from there", 130)

    with stopping(leave), progress_bar(quiet=as_json) as progress:
        results = run_comparison(
            comparison, real.resolve(), declared, out, jobs=jobs, scheduler=scheduler, progress=progress
        )
    files = write_comparison(results, out, title=real.name)
    lines = summarise(results)
    if as_json:
        failed = [r.error for r in results if r.error]
        say_json({"INTERNAL": INTERNAL, "files": files, "lines": [vars(one) for one in lines], "failed": failed})
        return
    say_table(
        "",
        ["score", "method", "ε", "mean", "sd"],
        [[o.score, o.method, f"{o.epsilon:g}", f"{o.mean:.4f}", f"{o.sd:.4f}"] for o in lines],
    )
    say("\n".join(f"[bold]{plain(path)}[/]" for path in files))
    say(f"[red]{INTERNAL}[/]")


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--epsilons takes numbers with commas between, got {text!r}") from None
