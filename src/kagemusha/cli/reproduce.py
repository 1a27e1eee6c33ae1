"""`reproduce`: the papers' tables and figures next to ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kagemusha.cli.output import plain, progress_bar, say
from kagemusha.errors import UsageError

if TYPE_CHECKING:
    from kagemusha.reproduce.claims import Claim

app = typer.Typer(no_args_is_help=True, help="The papers' tables and figures, the printed numbers next to ours.")

Quick = Annotated[bool, typer.Option("--quick", help="A few minutes instead of the paper's own repetitions.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Folder for tables and figures: results/PAPER, or results/PAPER-quick.", show_default=False
    ),
]
PageOnly = Annotated[bool, typer.Option("--page", help="Run nothing: write the page of what is stored.")]
MOST_TARGETS = 10_000
COLOURS = {"holds": "green", "does not hold": "red"}


def _folder(out: Path | None, paper: str, quick: bool) -> Path:
    """A quick run has a folder of its own: it would take the place of what took hours."""
    return out or Path("results") / (f"{paper}-quick" if quick else paper)


def _names(text: str | None, mark: str = ",") -> tuple[str, ...]:
    """What a list in one text names."""
    return tuple(name.strip() for name in (text or "").split(mark) if name.strip())


def _counts(text: str | None) -> tuple[int, ...]:
    """Numbers of targets."""
    for word in _names(text):
        if not word.isdecimal() or not 1 <= int(word) <= MOST_TARGETS:
            raise UsageError(f"--counts must be whole numbers from 1 to {MOST_TARGETS:,}, got {word!r}")
    return tuple(int(word) for word in _names(text))


def _show(claims: Sequence[Claim], out: Path) -> None:
    for claim in claims:
        verdict = f"[{COLOURS.get(claim.verdict, 'yellow')}]{plain(claim.verdict)}[/]"
        say(f"{verdict}  {plain(claim.where)}: {plain(claim.text)}: {plain(claim.found)}")
    say(f"Written to {plain(out)}/report.md")


@app.command("gaussian-rdp")
def gaussian_rdp(
    out: Out = None,
    quick: Quick = False,
) -> None:
    """Rényi DP of generation randomness: Tables 1 and 2, Figure 2, and what we add. Needs no data."""
    from kagemusha.reproduce.gaussian_rdp import reproduce

    where = _folder(out, "gaussian-rdp", quick)
    report = reproduce(where, quick)
    _show(report.claims, where)
    if not report.passed:
        raise typer.Exit(1)


@app.command()
def mia(
    out: Out = None,
    quick: Quick = False,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's own repetitions and hundreds of trainings: many hours.")
    ] = False,
    ctgan_epochs: Annotated[int, typer.Option(help="Epochs of CTGAN (extra `neural`); 0 leaves it out.")] = 15,
    command: Annotated[
        str,
        typer.Option(
            help="A line that runs DataSynthesizer on CSV files, with {in}, {out}, {rows} and {seed}; for one, see "
            "benchmarks/rivals/datasynthesizer_csv.py. Left out, that game is not played."
        ),
    ] = "",
    trainings: Annotated[int, typer.Option(help="Trainings of that program in each world.", min=2)] = 10,
    counts: Annotated[
        str | None, typer.Option(help="Numbers of targets at once, with commas; by default the ten of Table 5.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Only these games, with commas: stat,ctgan. The others stay as stored.")
    ] = None,
    page: PageOnly = False,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
) -> None:
    """Membership inference on Adult: Figure 3, Tables 3 to 6, every claim in every space.

    Needs the real data set (KAGEMUSHA_DATA). A stopped run goes on where it was.
    """
    from kagemusha.reproduce.mia import reproduce

    if quick and full:
        raise UsageError("give --quick or --full, not both")
    if ctgan_epochs < 0:
        raise UsageError(f"--ctgan-epochs must be at least 0, got {ctgan_epochs}")
    where = _folder(out, "mia", quick)
    with progress_bar() as progress:
        report = reproduce(
            where,
            quick=quick,
            full=full,
            epochs=ctgan_epochs,
            command=command,
            trainings=trainings,
            counts=_counts(counts),
            jobs=jobs,
            only=_names(only),
            only_page=page,
            progress=progress,
        )
    _show(report.judged.claims(), where)


@app.command()
def aim(
    out: Out = None,
    quick: Quick = False,
    page: PageOnly = False,
) -> None:
    """AIM and its variants against PrivBayes on Adult and Bank.

    Figures 1 to 8, Tables 2 and 3, every claim, thirty seeds. Needs the real data sets (KAGEMUSHA_DATA). A stopped run
    goes on where it was.
    """
    from kagemusha.reproduce.aim import reproduce

    where = _folder(out, "aim", quick)
    with progress_bar() as progress:
        report = reproduce(where, quick=quick, only_page=page, progress=progress)
    _show(report.claims, where)


@app.command()
def p3gm(
    out: Out = None,
    quick: Quick = False,
    full: Annotated[bool, typer.Option("--full", help="Three runs of each fold, as many doubles; takes days.")] = False,
    credit: Annotated[
        Path | None,
        typer.Option(
            "--credit", help="The full Credit table (creditcard.csv); by default the sample.", show_default=False
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Only these data sets, with commas: esr,mnist. The others stay as stored.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, with commas. The others stay as stored.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of tables and runs of pictures, at most.", min=1, max=10)] = 10,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Whether to train for figures 3 and 4.")
    ] = True,
    search: Annotated[
        bool, typer.Option("--search", help="Make the trials that settings are taken from, and the page; nothing else.")
    ] = False,
    page: PageOnly = False,
) -> None:
    """P3GM and its siblings on tables and pictures: Tables 2 to 4, Figures 1, 3, 4 and 5.

    Needs the real data sets (KAGEMUSHA_DATA) and the extras neural and eval. A stopped run goes on where it was.
    """
    from kagemusha.reproduce.p3gm import reproduce

    if quick and full:
        raise UsageError("--quick and --full exclude each other")
    where = _folder(out, "p3gm", quick)
    size = "quick" if quick else "full" if full else "committed"
    with progress_bar() as progress:
        report = reproduce(
            where,
            size=size,
            credit=credit,
            only=_names(only),
            methods=_names(methods),
            folds=folds,
            by_epoch=figures,
            only_page=page,
            only_search=search,
            progress=progress,
        )
    _show(report.claims(report.data), where)


@app.command()
def annotation(
    out: Out = None,
    quick: Quick = False,
    runs: Annotated[int, typer.Option(help="Runs, each with a split of its own.")] = 20,
    others: Annotated[int, typer.Option(help="Runs of other tables, the paper's network and variants.", min=0)] = 5,
    only: Annotated[
        str | None, typer.Option(help="Only these arms, with semicolons: 'proposed;post-ann, 15'. The others stay.")
    ] = None,
    page: PageOnly = False,
) -> None:
    """AIM + BALD on Adult with a simulated expert: Experiments 1 and 2, every claim, variants and ablations.

    Needs the real data set (KAGEMUSHA_DATA) and the extra eval. A stopped run goes on where it was.
    """
    from kagemusha.reproduce.annotation import reproduce

    if runs < 1:
        raise UsageError(f"--runs must be at least 1, got {runs}")
    where = _folder(out, "annotation", quick)
    with progress_bar() as progress:
        report = reproduce(
            where, quick=quick, runs=runs, others=others, only=_names(only, ";"), only_page=page, progress=progress
        )
    _show(report.claims(), where)


@app.command()
def repeat(
    papers: Annotated[
        list[str], typer.Argument(help="Papers whose pages are older than their code: aim, annotation, p3gm.")
    ],
    results: Annotated[Path, typer.Option("--results", help="The folder with the papers' pages.")] = Path("results"),
    runs: Annotated[int, typer.Option(help="Runs of each kind that are made again.")] = 3,
    only: Annotated[
        str | None, typer.Option(help="Only these kinds, as a page calls them, with semicolons: 'kage;post-ann, 15'.")
    ] = None,
) -> None:
    """Make a few runs of older code again, and write beside the page whether today's code gives the same numbers.

    They are chosen at equal distances from the first to the last. What cannot be repeated by the run stays older.
    """
    from kagemusha.reproduce.pages import PAPERS, refresh, repeat

    if runs < 1:
        raise UsageError(f"--runs must be at least 1, got {runs}")
    known = [paper.folder for paper in PAPERS]
    for name in papers:
        if name not in known:
            raise UsageError(f"no paper {name!r}; papers are {', '.join(known)}")
        with progress_bar() as progress:
            found = repeat(results / name, runs, only=_names(only, ";"), progress=progress)
        for what, one in found.items():
            say(f"{plain(name)}: {plain(what)}: {one.same} of {one.runs} the same")
        if not found:
            say(f"{plain(name)}: nothing to repeat")
    refresh(results)


@app.command()
def pages(
    results: Annotated[Path, typer.Option("--results", help="The folder with the papers' pages.")] = Path("results"),
    readme: Annotated[
        Path | None, typer.Option(help="A README with a table of papers to renew.", show_default=False)
    ] = None,
) -> None:
    """Write into every page whether it is older than its code, and README's table of papers. Runs nothing."""
    from kagemusha.reproduce.pages import refresh

    changed = refresh(results, readme)
    for path in changed:
        say(f"Renewed {plain(path)}")
    if not changed:
        say("Every page says what it must.")
