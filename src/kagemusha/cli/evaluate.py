"""`evaluate`: how good the doubles are, with the real table at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kagemusha.cli.options import DatasetOption, JsonOption, LedgerOption, check_seed
from kagemusha.cli.output import plain, progress_bar, say, say_json, say_table, warn
from kagemusha.errors import UsageError

if TYPE_CHECKING:
    from kagemusha.schema import Schema


def evaluate(
    real: Annotated[Path, typer.Argument(help="The real table: a CSV or Parquet file.", show_default=False)],
    synthetic: Annotated[Path, typer.Argument(help="The synthetic table.", show_default=False)],
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="The schema file (TOML); by default, or if it leaves facts open, the schema.toml beside the "
            "synthetic table.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Report to write; by default NAME-INTERNAL.html here, never in the release."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="The model file (model.kage), for budget, choices and expected error."),
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", help="A column to predict from the others. Repeatable.")
    ] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(
            help="tree, svm, xgboost, logistic, adaboost or gbm; by default tree, logistic and xgboost, which take "
            "seconds. Repeatable."
        ),
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option("--query", help='A condition to count, such as "age > 60". Repeatable.')
    ] = None,
    degree: Annotated[int, typer.Option("--degree", "-k", help="Largest sets of columns to compare.")] = 3,
    learning: Annotated[bool, typer.Option("--learning/--no-learning", help="Train models, or only count.")] = True,
    seed: Annotated[int, typer.Option(help="For sampled sets, splits and training.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write even into a folder that holds a release.")] = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a synthetic table with the real one and write a report.

    The report is INTERNAL: it reads real data without a privacy charge, which the table's ledger records first.
    What may be published about quality is in the release already (quality.html).
    """
    import numpy as np

    from kagemusha.evaluation.evaluate import INTERNAL
    from kagemusha.evaluation.evaluate import evaluate as run
    from kagemusha.evaluation.learners import NAMES, USUAL
    from kagemusha.evaluation.report import refuse_beside_release, write_report
    from kagemusha.evaluation.summary import figures, offered, sentences, verdict
    from kagemusha.files import declares_several
    from kagemusha.models.model import load_model
    from kagemusha.release.looks import note_look

    if synthetic.is_dir() and declares_several(synthetic / "schema.toml"):
        from kagemusha.cli.related import evaluate_related_tables

        evaluate_related_tables(real, synthetic, ledger, dataset, seed, as_json=as_json)
        return
    path = out or Path(f"{synthetic.stem}-INTERNAL.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out must end in .html, got {path.name!r}")
    unknown = [name for name in learner or () if name not in NAMES]
    if unknown:
        raise UsageError(f"--learner {unknown[0]!r} is not one of {', '.join(NAMES)}")
    check_seed(seed)
    if degree < 1:
        raise UsageError(f"--degree must be at least 1, got {degree}")
    if not force:
        refuse_beside_release(path)
    declared = _schema_for(schema, synthetic)
    loaded = load_model(model) if model is not None else None
    warn(note_look(real, "evaluate", ledger=ledger, dataset=dataset, encoding=declared.encoding))
    with progress_bar(quiet=as_json) as progress:
        found = run(
            real,
            synthetic,
            declared,
            model=loaded,
            targets=target or ([] if declared.target is None else [declared.target]),
            models=learner or USUAL,
            queries=query or (),
            kmax=degree,
            learning=learning,
            rng=np.random.default_rng(seed),
            progress=progress,
        )
        write_report(found, path, title=synthetic.name, beside_release=force)
    if as_json:
        say_json({"report": str(path), **found.to_json()})
        return
    say(f"[bold]{plain(verdict(found))}[/]")
    for sentence in sentences(found):
        say(f"• {plain(sentence)}")
    for words, rule in offered(found):
        say(f"• {plain(words)}")
        for line in rule.splitlines():
            say(f"    {plain(line)}")
    say_table("", ["measure", "value", "meaning"], [[f.name, f.value, f.meaning] for f in figures(found)])
    say(f"[bold]{plain(path)}[/]")
    say(f"[red]{INTERNAL}[/]")


def _schema_for(given: Path | None, synthetic: Path) -> Schema:
    """The schema that the doubles follow: what discovery closed is written beside them."""
    from kagemusha.certificate.inventory import SCHEMA
    from kagemusha.schema import Schema

    beside = synthetic.parent / SCHEMA
    if given is None and not beside.exists():
        raise UsageError(f"--schema is needed: there is no {SCHEMA} beside {synthetic}")
    declared = Schema.load(beside if given is None else given)
    open_facts = declared.open_facts()
    if not open_facts:
        return declared
    if not beside.exists():
        raise UsageError(
            f"{given} leaves {open_facts[0]} open; give the schema that was written with the doubles, {SCHEMA} in "
            f"their folder"
        )
    warn(f"{given} leaves {open_facts[0]} open; {beside} says what was found, and is used")
    return Schema.load(beside)
