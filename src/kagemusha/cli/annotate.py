"""`annotate`: people label doubles in a browser, and their labels guide what is read of the private table."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from kagemusha.cli.options import Delta, Epsilon, LedgerOption, Policy, TableOption, ledger_path
from kagemusha.cli.output import plain, say, warn
from kagemusha.cli.with_default import with_default
from kagemusha.errors import DataError, UsageError
from kagemusha.files import read_regular, scheme_of

DONE = "release"

app = typer.Typer(
    cls=with_default("label"),
    help="""Let people label doubles in a browser, instead of people's records, and use what they taught.

    kagemusha annotate people.csv --schema people.toml --label income --classes "<=50K,>50K"

    starts a page on this computer (its options: kagemusha annotate label --help). At the end there are labels, a
    classifier trained on them, and a release with its certificate.""",
)


@app.command()
def predict(
    data: Annotated[
        Path,
        typer.Argument(
            help="Records to label: doubles or people; CSV or Parquet. A folder of tables, where persons with their "
            "rows were labelled.",
            show_default=False,
        ),
    ],
    classifier: Annotated[
        Path, typer.Option("--classifier", help="classifier.json, or the folder that holds it.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="CSV file to write.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Label records with the classifier that labelled doubles left.

    Writes the records with one more column, named after the question, and one with how sure the classifier is. What is
    said about people's records is about those people: keep it as you keep the table.
    """
    from kagemusha.annotation.predict import predict_file

    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another --out or add --force")
    rows, question = predict_file(data, classifier, out)
    say(f"[bold]{plain(out)}[/] {rows:,} records with {plain(question)}")


@app.command(name="label")
def annotate(
    data: Annotated[
        str,
        typer.Argument(
            help="The private table: a file, or the address of a database; where the schema declares several tables, "
            "the folder that holds them, or the database.",
            show_default=False,
        ),
    ],
    schema: Annotated[Path, typer.Option("--schema", help="What is public about it (TOML).", show_default=False)],
    label: Annotated[str, typer.Option("--label", help="What people are asked about every record, such as income.")],
    classes: Annotated[str, typer.Option("--classes", help='The possible answers, with commas: "<=50K,>50K".')],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-9,
    labels: Annotated[int, typer.Option(help="How many labels people will give: the second budget.")] = 1000,
    rounds: Annotated[
        int | None,
        typer.Option(help="How often the private table is asked, between labels: 5 for kage, 20 for aim."),
    ] = None,
    loop: Annotated[
        str,
        typer.Option(
            help="How the table is asked: kage (a model at once, labels say where the rest of the budget goes) or aim "
            "(the paper's; a tenth of the budget chooses where people's labels leave doubt)."
        ),
    ] = "kage",
    judge: Annotated[
        str, typer.Option(help="Who learns from the labels: forest (scikit-learn) or network (torch).")
    ] = "forest",
    ask: Annotated[
        str, typer.Option(help="Which doubles are asked about: bald, batch-bald, entropy or random.")
    ] = "bald",
    held: Annotated[float, typer.Option(help="Share of labels for random doubles, by which quality is judged.")] = 0.1,
    shared: Annotated[float, typer.Option(help="Share of doubles that two people label, for their agreement.")] = 0.1,
    guideline: Annotated[
        Path | None, typer.Option(help="A text file that tells people how to decide.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The project's folder.", show_default=False)] = None,
    port: Annotated[int, typer.Option(help="Port on this computer; 0 takes a free one.")] = 0,
    table: TableOption = None,
    ledger: LedgerOption = None,
    policy: Policy = "default",
    take: Annotated[
        Path | None,
        typer.Option(
            "--import",
            help="Take labels from a file (our CSV or JSON, or Label Studio's JSON) and leave.",
            show_default=False,
        ),
    ] = None,
    alone: Annotated[bool, typer.Option("--rounds-only", hidden=True)] = False,
) -> None:
    """Let people label doubles in a browser, instead of people's records.

    Starts a page on this computer and prints its link. Everything is on disk: Ctrl-C stops it, the same command goes on
    where it was, and nothing is paid or asked twice. When both budgets are used up, the folder holds the labelled
    doubles (labels.csv), a classifier (classifier.json), a page that sums them up (summary.html) and a release with its
    certificate. Labels travel to Label Studio and back: see the page's export, and --import.
    """
    from kagemusha.annotation.exchange import label_studio_config
    from kagemusha.annotation.incoming import take_labels
    from kagemusha.annotation.loop import Annotated as Settings
    from kagemusha.annotation.project import STORE, Project, open_project, require_possible
    from kagemusha.making.order import usual_folder
    from kagemusha.privacy.budget import MOST_DELTA
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.related import Related

    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be at least 0 and at most 65535, got {port}")
    if delta > MOST_DELTA:
        raise UsageError(
            f"--delta must be at most {MOST_DELTA:g}, got {delta:g}: `verify` refuses a promise that fails more often"
        )
    names = tuple(name.strip() for name in classes.split(","))
    settings = Settings(
        loop=loop,  # type: ignore[arg-type]
        classes=max(2, len(names)),
        labels=labels,
        rounds=rounds if rounds is not None else 20 if loop == "aim" else 5,
        judge=judge,
        ask=ask,
        held=held,
        batch=5,
        ahead=25,
    )
    project = Project(label, names, _text(guideline), epsilon, delta, settings, shared)
    declared = load_declared(schema)
    there = Path(data).exists() if isinstance(declared, Related) else Path(data).is_file()
    if scheme_of(data) is None and not there:
        raise DataError(f"{data}: no such file")
    folder = out or Path(f"{str(usual_folder(data, table)).removesuffix('-doubles')}-labels")
    require_possible(project, declared)
    taken = _text(take)
    if take is not None and not (folder / STORE).exists():
        raise UsageError(f"{folder}: no labelling project to import into; begin one first, without --import")
    store = open_project(folder, project)
    (folder / "label-studio.xml").write_text(label_studio_config(list(names)))
    if take is not None:
        say(f"{take_labels(store, taken)} new labels")
        return
    if alone:
        _rounds(project, store, (data, table), declared, folder, ledger_path(ledger, data), policy)
        return
    _serve(store, folder, port)


def _rounds(
    project: Any,
    store: Any,
    where: tuple[str, str | None],
    schema: Any,
    folder: Path,
    ledger: str | Path,
    policy: str,
) -> None:
    """The loop, in a process of its own; ends with a release."""
    from kagemusha.annotation.project import explanatory, run_rounds
    from kagemusha.annotation.results import write_results
    from kagemusha.door import publish
    from kagemusha.schema.related import Related
    from kagemusha.sources.families import Family

    _end_with_the_server()
    model = run_rounds(project, store, where[0], schema, place=where[1], ledger=ledger, policy=policy)
    if not (folder / DONE).exists():
        publish(model, folder / DONE, ledger=ledger)
    promise = f"{model.certificate.promised.in_words()}, for the rounds; labels are given to doubles and cost none"
    several = Family(schema).without(project.question).related if isinstance(schema, Related) else None
    write_results(store, explanatory(schema, project.question), folder, promise=promise, related=several)
    store.keep(released=True)


def _end_with_the_server() -> None:
    """Whoever started these rounds holds the other end of our input; when it closes, however that came, they end.

    At any moment they may: all that was paid and answered is on disk.
    """
    threading.Thread(target=lambda: os.read(0, 1) or os._exit(0), daemon=True).start()


def _serve(store: Any, folder: Path, port: int) -> None:
    """The page in this process, the loop in another."""
    try:
        import uvicorn

        from kagemusha.annotation.server import create_app
    except ImportError:
        raise UsageError("this needs the extra 'annotate': pip install 'kagemusha[annotate]'") from None
    from kagemusha.web.access import token_of
    from kagemusha.web.listening import listening

    with listening(port) as place:
        worker = subprocess.Popen(
            [sys.executable, "-c", "from kagemusha.cli import main; main()", *sys.argv[1:], "--rounds-only"],
            stdin=subprocess.PIPE,  # nothing is ever written: it closes with this process
            stdout=subprocess.DEVNULL,
        )
        token = token_of(folder)
        say(f"Open  [bold]{plain(place.link(token))}[/]")
        say(f"Labels are kept in {plain(folder)}. Ctrl-C stops; the same command goes on.")
        server = uvicorn.Server(
            uvicorn.Config(
                create_app(store, token, hosts=place.hosts), log_level="warning", access_log=False, lifespan="off"
            )
        )
        watch = threading.Thread(target=_watch, args=(worker, folder, store, server), daemon=True)
        watch.start()
        try:
            server.run(sockets=[place.socket])
        finally:
            worker.terminate()
            worker.wait(30)
        if worker.returncode > 0 and not store.begun():
            raise typer.Exit(worker.returncode)


def _watch(worker: subprocess.Popen[bytes], folder: Path, store: Any, server: Any) -> None:
    code = worker.wait()
    if code == 0:
        say(f"All labels are in. {plain(folder)}: summary.html sums them up; labels.csv, classifier.json.")
        say(f"The release: {plain(folder / DONE)}. Ctrl-C to stop the page.")
    elif code > 0 and not store.begun():
        server.should_exit = True  # nothing to label will ever come: what went wrong was said above
    elif code > 0:
        warn("the rounds ended with an error, see above; the page stays open; start the command again to resume them")


def _text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return read_regular(path, follow=True).decode("utf-8")
    except (OSError, ValueError):
        raise DataError(f"{path}: cannot be read as text") from None
