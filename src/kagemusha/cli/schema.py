"""`schema`: draft what is public about a table, and say what a person must still confirm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagemusha.cli.asking import CapOption, KeyOption, Payment
from kagemusha.cli.options import AdjacencyOption, DatasetOption, Delta, JsonOption, LedgerOption, Policy, TableOption
from kagemusha.cli.output import plain, say, say_json, speech
from kagemusha.errors import UsageError

app = typer.Typer(no_args_is_help=True, help="What is public about a table: columns, categories, bounds, bins.")


@app.command()
def propose(
    data: Annotated[
        str,
        typer.Argument(
            help="The private table: a CSV, Parquet, Excel, OpenDocument, Stata, SPSS or SAS file, a pattern such as "
            "'visits/*.csv', or the address of a database, as `synth` takes it. Tables that belong together: a folder, "
            "or a database whose schema --table names.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", help="File to write; by default NAME.toml.")] = None,
    open_facts: Annotated[
        bool,
        typer.Option("--open", help="Take kinds only; leave categories and bounds open for `synth --discover`."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    table: TableOption = None,
    persons: Annotated[
        str | None,
        typer.Option(
            help="The column that says whose a row is: one long table is drafted as persons and their rows.",
            show_default=False,
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="How a text file is written that is not UTF-8: cp932, euc-jp, cp1252, …; found if not said."),
    ] = None,
) -> None:
    """Draft a schema from the data. Every fact it takes from the data is marked until a person confirms it."""
    from kagemusha.proposal.notes import proposal_notes
    from kagemusha.proposal.propose import propose as draft
    from kagemusha.proposal.propose import propose_kinds
    from kagemusha.proposal.several import is_several
    from kagemusha.schema.lint import check as look
    from kagemusha.sources.lake import is_pattern

    named = Path(data).absolute().parent.name if is_pattern(data) else Path(data).stem
    path = out or Path(f"{table or named}.toml")
    if path.exists() and not force:
        raise UsageError(f"{path} already exists; choose another --out or add --force")
    if persons is not None or is_several(data, table):
        if open_facts or encoding is not None:
            raise UsageError("--open and --encoding are for one table")
        from kagemusha.cli.related import propose_tables

        propose_tables(data, path, table, persons)
        return
    schema = (propose_kinds if open_facts else draft)(data, encoding=encoding, table=table)
    schema.save(path)
    for line in proposal_notes(schema, data):
        say(plain(line))
    for finding in look(schema):
        if finding.level == "warning":
            say(f"[yellow]warning[/] [bold]{plain(finding.column)}[/]: {plain(finding.text)}")
    words = speech()
    facts = {"columns": len(schema), "facts": len(schema.derived_facts())}
    say(plain(words("{path}: {columns} columns, {facts} facts taken from the data", path=path, **facts)))
    say(
        plain(
            words(
                "Now `kagemusha schema edit {path}` asks about each column in plain words (or open the file and write "
                "what you know from public sources); `kagemusha schema check {path}` says what is left.",
                path=path,
            )
        )
    )


@app.command(name="from")
def from_public_facts(
    source: Annotated[
        str,
        typer.Argument(
            help="A REDCap data dictionary (.csv), SDV metadata, frictionless, CSVW, pandera or JSON Schema (.json), a "
            "DDI codebook (.xml), or postgresql://…: its catalogue is read, no row.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", help="File to write; by default NAME.toml.")] = None,
    table: TableOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write a schema from what is public already. No row is read; each column names who says so."""
    from kagemusha.facts import schema_from

    path = out or Path(f"{table or Path(source).stem}.toml")
    if path.exists() and not force:
        raise UsageError(f"{path} already exists; choose another --out or add --force")
    schema = schema_from(source, table=table)
    schema.save(path)
    left = schema.open_facts()
    say(f"{plain(path)}: {len(schema)} columns; {schema.columns[0].confirmed} says so. No row was read.")
    if left:
        some = ", ".join(map(str, left[:6])) + (", …" if len(left) > 6 else "")
        say(f"{len(left)} facts are left open ({plain(some)}): write them in, or let `synth --discover` find them.")
    say(f"Now: kagemusha schema check {plain(path)}")


@app.command()
def check(
    schema: Annotated[Path, typer.Argument(help="The schema file (TOML).", show_default=False)],
    as_json: JsonOption = False,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            help="Count the rows of this private table that break each rule: with --epsilon as a charged question, "
            "without it "
            "exactly, which is INTERNAL and is recorded in the ledger as a read without protection if there is one.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="What the question to --data may cost, such as 0.1.", show_default=False),
    ] = None,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    table: TableOption = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    policy: Policy = "default",
    cap: CapOption = None,
    key: KeyOption = "",
) -> None:
    """Say in plain words what still comes from the data and therefore breaks end-to-end privacy.

    Rules that contradict each other are named, the fewest that do, and what a column of survey weights means is
    explained. Exits with 3 while anything is wrong.
    """
    from kagemusha.cli.schema_rules import count_exactly, count_noisily
    from kagemusha.errors import SchemaError
    from kagemusha.files import declares_several
    from kagemusha.rules.contradictions import dead_codes, require_consistent
    from kagemusha.schema import Schema
    from kagemusha.schema.laws import in_force
    from kagemusha.schema.lint import DERIVED, NOT_DECLARED, OPEN, TAKEN, Remark
    from kagemusha.schema.lint import check as look

    if declares_several(schema):
        from kagemusha.cli.related import check_tables

        if data is not None:
            raise UsageError("--data is for one table")
        check_tables(schema, as_json=as_json)
        return
    if data is None and any(given is not None for given in (epsilon, table, cap)):
        raise UsageError("--epsilon, --table and --cap are for --data: say which table is asked")
    declared = Schema.load(schema)
    findings = look(declared)
    in_force(declared)
    if not declared.open_facts():
        require_consistent(declared)
        for column, values in dead_codes(declared).items():
            named = ", ".join(values[:5]) + (", …" if len(values) > 5 else "")
            findings.append(Remark(column, "warning", f"the rules leave no row to {named}"))
    if not as_json:
        said = ""
        for finding in findings:
            colour = {"derived": "red", "open": "red", "warning": "yellow", "note": "blue"}[finding.level]
            start = {"derived": TAKEN, "open": NOT_DECLARED}.get(finding.level, "")
            if start and start != said:
                say(f"[{colour}]{finding.level:<8}[/] {start.strip()}")
            said = start
            head = " " * 8 if start else f"[{colour}]{finding.level:<8}[/]"
            say(f"{head} [bold]{plain(finding.column)}[/]: {plain(finding.text.removeprefix(start))}")
        levels = {f.level for f in findings}
        for text in ([DERIVED] if "derived" in levels else []) + ([OPEN] if "open" in levels else []):
            say(text)
    counted = None
    if data is not None and epsilon is not None:
        payment = Payment(epsilon, delta, adjacency, ledger, dataset, policy, cap, key)
        counted = count_noisily(declared, data, table, payment, quiet=as_json)
    elif data is not None:
        counted = count_exactly(declared, data, table, ledger, dataset, policy, quiet=as_json)
    if as_json:
        listed = [{"column": f.column, "level": f.level, "text": f.text} for f in findings]
        say_json(listed if counted is None else {"findings": listed, "rules": counted})
    derived = [f for f in findings if f.level == "derived"]
    if derived:
        raise SchemaError(f"{schema}: {len(derived)} columns rest on the data; until a person confirms them, ε = ∞")
    if not as_json and not any(f.level == "open" for f in findings):
        words = speech()
        done = words(
            "{path}: {columns} columns, everything declared: a release with it is private end to end",
            path=schema,
            columns=len(declared),
        )
        say(plain(done))


@app.command()
def edit(
    schema: Annotated[Path, typer.Argument(help="The schema file (TOML), such as `schema propose` wrote.")],
    who: Annotated[str | None, typer.Option(help="Who answers; kept in the file and shown on certificates.")] = None,
) -> None:
    """Go through the columns in plain words: confirm, change, drop or leave open what the draft took from the data.

    Every answer is saved at once; go on later with the same command.
    """
    from kagemusha.cli.schema_form import Form

    Form(schema, who, speech()).run()


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
