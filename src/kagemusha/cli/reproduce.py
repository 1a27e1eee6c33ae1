"""`reproduce`: the papers' tables and figures next to ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.output import plain, say

app = typer.Typer(no_args_is_help=True, help="The papers' tables and figures, the printed numbers next to ours.")

Quick = Annotated[bool, typer.Option("--quick", help="A few minutes instead of the paper's own repetitions.")]


@app.command("gaussian-rdp")
def gaussian_rdp(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables and figures.")] = Path("results/gaussian-rdp"),
    quick: Quick = False,
) -> None:
    """Rényi DP of generation randomness: Tables 1 and 2, Figure 2, and what we add. Needs no data."""
    from kagemusha.reproduce.gaussian_rdp import reproduce

    report = reproduce(out, quick)
    for line in report.markdown().splitlines():
        say(plain(line))
    say(f"Written to {plain(out)}")
    if not report.passed:
        raise typer.Exit(1)


@app.command()
def mia(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables and figures.")] = Path("results/mia"),
    quick: Quick = False,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's own repetitions and hundreds of trainings: many hours.")
    ] = False,
    ctgan_epochs: Annotated[int, typer.Option(help="Epochs of CTGAN (extra `neural`); 0 leaves it out.")] = 15,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
) -> None:
    """Membership inference on Adult: Figure 3, Tables 3 to 6, every claim, and where the odd results come from.

    Needs the real data set (KAGEMUSHA_DATA). A stopped run goes on where it was.
    """
    from kagemusha.cli.output import progress_bar
    from kagemusha.errors import UsageError
    from kagemusha.reproduce.mia import reproduce

    if quick and full:
        raise UsageError("give --quick or --full, not both")
    if ctgan_epochs < 0:
        raise UsageError(f"--ctgan-epochs must be at least 0, got {ctgan_epochs}")
    with progress_bar() as progress:
        report = reproduce(out, quick=quick, full=full, epochs=ctgan_epochs, jobs=jobs, progress=progress)
    for claim in report.claims:
        say(f"[{'green' if claim.holds else 'red'}]{plain(claim.word)}[/]  {plain(claim.text)}: {plain(claim.found)}")
    say(f"Written to {plain(out)}/report.md")


@app.command()
def aim(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables and figures.")] = Path("results/aim"),
    quick: Quick = False,
) -> None:
    """AIM and its variants against PrivBayes on Adult and Bank.

    Figures 1 to 8, Tables 2 and 3, every claim, thirty seeds. Needs the real data sets (KAGEMUSHA_DATA). A stopped run
    goes on where it was.
    """
    from kagemusha.cli.output import progress_bar
    from kagemusha.reproduce.aim import reproduce

    with progress_bar() as progress:
        report = reproduce(out, quick=quick, progress=progress)
    colours = {"holds": "green", "does not hold": "red"}
    for claim in report.claims:
        verdict = f"[{colours.get(claim.verdict, 'yellow')}]{plain(claim.verdict)}[/]"
        say(f"{verdict}  {plain(claim.where)}: {plain(claim.text)}: {plain(claim.found)} (n = {claim.n})")
    say(f"Written to {plain(out)}/report.md")


@app.command()
def p3gm(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables and figures.")] = Path("results/p3gm"),
    quick: Quick = False,
    full: Annotated[bool, typer.Option("--full", help="Ten folds and three runs, as the paper; takes days.")] = False,
    credit: Annotated[
        Path | None,
        typer.Option(
            "--credit", help="The full Credit table (creditcard.csv); by default the sample.", show_default=False
        ),
    ] = None,
) -> None:
    """P3GM and its siblings on tables and pictures: Tables 2 to 4, Figures 1, 3, 4 and 5.

    Needs the real data sets (KAGEMUSHA_DATA) and the extras neural and eval. A stopped run goes on where it was.
    """
    from kagemusha.cli.output import progress_bar
    from kagemusha.errors import UsageError
    from kagemusha.reproduce.p3gm import reproduce

    if quick and full:
        raise UsageError("--quick and --full exclude each other")
    with progress_bar() as progress:
        reproduce(out, size="quick" if quick else "full" if full else "committed", credit=credit, progress=progress)
    say(f"Written to {plain(out)}/report.md")


@app.command()
def annotation(
    out: Annotated[Path, typer.Option("--out", help="Folder for tables and figures.")] = Path("results/annotation"),
    quick: Quick = False,
    runs: Annotated[int, typer.Option(help="Runs, each with a split of its own.")] = 5,
) -> None:
    """AIM + BALD on Adult with a simulated expert: Experiments 1 and 2, every claim, variants and ablations.

    Needs the real data set (KAGEMUSHA_DATA) and the extra eval. A stopped run goes on where it was.
    """
    from kagemusha.cli.output import progress_bar
    from kagemusha.errors import UsageError
    from kagemusha.reproduce.annotation import reproduce

    if runs < 1:
        raise UsageError(f"--runs must be at least 1, got {runs}")
    with progress_bar() as progress:
        report = reproduce(out, quick=quick, runs=runs, progress=progress)
    for claim in report.claims():
        say(f"[{'green' if claim.holds else 'red'}]{plain(claim.word)}[/]  {plain(claim.text)}: {plain(claim.found)}")
    say(f"Written to {plain(out)}/report.md")
