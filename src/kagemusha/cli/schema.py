"""`schema`: draft what is public about a table, and say what a person must still confirm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kagemusha.cli.options import JsonOption
from kagemusha.cli.output import plain, say, say_json
from kagemusha.errors import UsageError

app = typer.Typer(no_args_is_help=True, help="What is public about a table: columns, categories, bounds, bins.")


@app.command()
def propose(
    data: Annotated[Path, typer.Argument(help="The private table: a CSV or Parquet file.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", help="File to write; by default NAME.toml.")] = None,
    open_facts: Annotated[
        bool,
        typer.Option("--open", help="Take kinds only; leave categories and bounds open for `synth --discover`."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Draft a schema from the data. Every fact it takes from the data is marked until a person confirms it."""
    from kagemusha.proposal.propose import propose as draft
    from kagemusha.proposal.propose import propose_kinds
    from kagemusha.schema.lint import check as look

    path = out or data.with_suffix(".toml").name
    path = Path(path)
    if path.exists() and not force:
        raise UsageError(f"{path} already exists; choose another --out or add --force")
    schema = propose_kinds(data) if open_facts else draft(data)
    schema.save(path)
    for finding in look(schema):
        if finding.level == "warning":
            say(f"[yellow]warning[/] [bold]{plain(finding.column)}[/]: {plain(finding.text)}")
    say(f"{plain(path)}: {len(schema)} columns, {len(schema.derived_facts())} facts taken from the data")
    say(f"Now open it, replace what you know from public sources, and run `kagemusha schema check {plain(path)}`.")


@app.command()
def check(
    schema: Annotated[Path, typer.Argument(help="The schema file (TOML).", show_default=False)],
    as_json: JsonOption = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="INTERNAL: count the rows of this private table that break each rule."),
    ] = None,
) -> None:
    """Say in plain words what still comes from the data and therefore breaks end-to-end privacy.

    Rules that contradict each other are named, the fewest that do. Exits with 3 while anything is wrong.
    """
    from kagemusha.errors import SchemaError
    from kagemusha.models.contradictions import dead_codes, require_consistent
    from kagemusha.schema import Schema
    from kagemusha.schema.laws import in_force
    from kagemusha.schema.lint import DERIVED, OPEN, Finding
    from kagemusha.schema.lint import check as look

    declared = Schema.load(schema)
    findings = look(declared)
    in_force(declared)
    if not declared.open_facts():
        require_consistent(declared)
        for column, values in dead_codes(declared).items():
            named = ", ".join(values[:5]) + (", …" if len(values) > 5 else "")
            findings.append(Finding(column, "warning", f"the rules leave no row to {named}"))
    if as_json:
        say_json([{"column": f.column, "level": f.level, "text": f.text} for f in findings])
    else:
        for finding in findings:
            colour = {"derived": "red", "open": "red", "warning": "yellow"}[finding.level]
            say(f"[{colour}]{finding.level:<8}[/] [bold]{plain(finding.column)}[/]: {plain(finding.text)}")
        levels = {f.level for f in findings}
        for text in ([DERIVED] if "derived" in levels else []) + ([OPEN] if "open" in levels else []):
            say(text)
    if data is not None:
        _count_broken(declared, data)
    derived = [f for f in findings if f.level == "derived"]
    if derived:
        raise SchemaError(f"{schema}: {len(derived)} columns rest on the data; until a person confirms them, ε = ∞")
    if not as_json and not any(f.level == "open" for f in findings):
        say(f"{plain(schema)}: {len(declared)} columns, everything declared: a release with it is private end to end")


def _count_broken(schema: Any, data: Path) -> None:
    """How many rows of the private table break each rule; whoever publishes this publishes about persons."""
    import duckdb

    from kagemusha.encoding.rules import violations
    from kagemusha.sources.rawfile import open_file

    file = open_file(data)
    with file.reading() as (connection, scan):
        try:
            chosen = ", ".join(f"{file.source(at)} AS v{at}" for at in range(len(file.names)))
            table = connection.sql(f"SELECT {chosen} FROM {scan}").to_arrow_table().rename_columns(list(file.names))
        except duckdb.Error:
            raise UsageError(f"{data}: the table cannot be read; `kagemusha synth` says where") from None
    say("[red]INTERNAL[/]: the numbers below are exact and about persons. Do not publish them.")
    for rule, count in violations(table, schema).items():
        say(f"{count:>10,} of {table.num_rows:,} rows break {plain(rule)}")


@app.command()
def edit(
    schema: Annotated[Path, typer.Argument(help="The schema file (TOML), such as `schema propose` wrote.")],
    who: Annotated[str | None, typer.Option(help="Who answers; kept in the file and shown on certificates.")] = None,
) -> None:
    """Go through the columns in plain words: confirm, change, drop or leave open what the draft took from the data.

    Every answer is saved at once; go on later with the same command.
    """
    from kagemusha.cli.schema_form import Form

    Form(schema, who).run()


@app.command()
def images(
    height: Annotated[int, typer.Argument(help="Rows of pixels.", show_default=False)],
    width: Annotated[int, typer.Argument(help="Pixels in a row.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="File to write.")] = Path("images.toml"),
    classes: Annotated[int, typer.Option(help="How many labels there are, from 0; 0 for pictures without labels.")] = 0,
    channels: Annotated[int, typer.Option(help="1 for grey, 3 for colours.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write the schema of pictures of a shape that everybody may know: a column for each pixel, 0 to 255."""
    from kagemusha.schema.images import image_schema

    if not 0 <= classes <= 1000:
        raise UsageError(f"--classes must be at least 0 and at most 1,000, got {classes}")
    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another --out or add --force")
    schema = image_schema(height, width, classes=classes, channels=channels)
    schema.save(out)
    say(f"{plain(out)}: {len(schema)} columns. Now: kagemusha synth pictures.npz --schema {plain(out)}")
