"""What `synth` and `sample` do where a schema declares several tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagemusha.cli.options import parse_options
from kagemusha.cli.output import PAID_BEFORE, cap_summary, first_cap_in_words, plain, say, say_json, say_table, warn
from kagemusha.errors import UsageError
from kagemusha.making.order import Order
from kagemusha.progress import Progress
from kagemusha.synthesizers.registry import DEFAULT, create

if TYPE_CHECKING:
    from kagemusha.attacks.synthesis.families import Families
    from kagemusha.attacks.table import GameTable
    from kagemusha.privacy.budget import Budget


def synth_related(order: Order, where: str | Path, progress: Progress, *, as_json: bool) -> None:
    """Make a release of related tables and say what is in it; `where` is the ledger."""
    from kagemusha.certificate.inventory import doubles_file
    from kagemusha.folder.table_file import find_formulas
    from kagemusha.ledger import ledger_shown
    from kagemusha.making.related import make_related_release
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.related import Related

    related = load_declared(order.schema) if isinstance(order.schema, str | Path) else order.schema
    assert isinstance(related, Related)
    assert order.output is not None
    made = make_related_release(order, related, progress=progress)
    certificate, output = made.certificate, order.output
    if not output.spreadsheet_safe and output.file_kind == "csv":
        for table in related:
            warn(find_formulas(table.schema).in_words())
    if as_json:
        say_json(
            {
                "folder": str(output.path),
                "tables": {table.name: doubles_file(table.name, output.file_kind) for table in related},
                "release": certificate.release,
                "ledger": ledger_shown(where),
                "epsilon": certificate.epsilon,
                "delta": certificate.promised.delta,
                "adjacency": certificate.promised.adjacency,
                "method": certificate.method,
                "broken because": certificate.broken_because,
                "files": certificate.outputs,
                "cap": cap_summary(made.cap),
            }
        )
        return
    say(f"[bold]{plain(output.path)}[/]")
    for table in related:
        say(plain(f"  {doubles_file(table.name, output.file_kind):<22} doubles of {table.name}, keys made anew"))
    say("  certificate.html       what was promised, for people (certificate.json: the same, for `kagemusha verify`)")
    say("  schema.toml, model-*.kage  to read and to draw more doubles (`kagemusha sample`)")
    if certificate.broken_because:
        say("[red bold]ε = ∞: this is not a private release.[/] " + plain("; ".join(certificate.broken_because)))
        return
    say(
        f"Promise kept: {certificate.promised.in_words()}. It is about one person with all rows below. Ledger: "
        f"{plain(ledger_shown(where))}"
    )
    if made.paid_before:
        say(PAID_BEFORE)
    if not made.capped_before and made.cap is not None:
        say(plain(first_cap_in_words(where, made.cap)))


def sample_related(
    folder: Path, out: Path, rows: int | None, where: str | None, seed: int | None, *, safe: bool, force: bool
) -> dict[str, int]:
    """Draw more persons with all rows below; a file per table in a folder, and how many rows each has."""
    from kagemusha.folder.related import load_related
    from kagemusha.folder.table_file import write_tables

    if out.exists() and not (force and out.is_dir()):
        raise UsageError(f"{out} already exists; choose another --out, a folder to be made")
    model = load_related(folder)
    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, table in model.sample(rows, seed=seed, where=where, like="pyarrow").items():
        marked = model.schema[name].schema.encoding is not None
        written[name] = write_tables(iter([table]), out / f"{name}.csv", safe=safe, marked=marked)
    return written


def evaluate_related_tables(
    real: Path, folder: Path, ledger: str | Path | None, dataset: str | None, seed: int, *, as_json: bool
) -> None:
    """Compare the tables of a release with the real ones, and say how near they come."""
    from kagemusha import questions
    from kagemusha.evaluation.evaluate import INTERNAL

    found = questions.evaluate_tables(real, folder, ledger=ledger, dataset=dataset, seed=seed, noted=warn)
    if as_json:
        say_json(found.to_json())
        return
    say_table("", ["measure", "value", "meaning"], found.lines())
    say(f"[red]{INTERNAL}[/]")


def plan_related(
    schema: Path, budget: Budget, method: str | None, options: dict[str, Any], persons: int | None, *, as_json: bool
) -> None:
    """Say what a release of related tables asks of each; nothing is read."""
    from dataclasses import asdict

    from kagemusha.certificate.page import in_words
    from kagemusha.planning.related import plan_tables
    from kagemusha.privacy.filter import Filter
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.related import Related
    from kagemusha.synthesizers.related_fit import require_models_tables

    related = load_declared(schema)
    assert isinstance(related, Related)
    synthesizer = create(method or DEFAULT, **options)
    require_models_tables(synthesizer, budget)
    planned = plan_tables(related, synthesizer, budget, persons)
    total = Filter(budget, synthesizer.accounting).total
    if as_json:
        say_json(
            {
                "method": synthesizer.name,
                "budget": {"epsilon": budget.epsilon, "delta": budget.delta, "adjacency": budget.adjacency},
                "accounting": synthesizer.accounting,
                "total": total,
                "persons": persons,
                "tables": [asdict(table) for table in planned],
                "derived": [str(fact) for fact in related.derived_facts()],
                "open": [str(fact) for fact in related.open_facts()],
            }
        )
        return
    say(f"[bold]{synthesizer.name}[/]: {synthesizer.summary}")
    lines = []
    for table in planned:
        few, many = ("?", "?") if table.errors is None else (f"{100 * error:.1f}%" for error in table.errors)
        counts = "1 row" if table.counts_as == 1 else f"{table.counts_as} rows"
        lines.append([table.table, str(table.columns), f"{100 * table.share:.1f}%", counts, few, many])
    heading = "Tables" if persons is None else f"Tables, errors of pairs for {persons:,} persons"
    titles = ["table", "columns", "of the budget", "a person counts as", "1 row each", "many rows each"]
    say_table(heading, titles, lines)
    say(f"Promise     {budget.in_words()} ({synthesizer.accounting}: {total:.4g})")
    say(f"In words    {plain(in_words(budget, synthesizer.accounting))}")
    say(
        "About       persons with everything below, however many rows that is. Rows of a parent with more than "
        "counts_as share what those count"
    )
    if persons is None:
        say("Error       --rows N (the number of persons, if that is public) tells what error to expect")
    left = [*related.derived_facts(), *related.open_facts()]
    if left:
        say(f"[yellow]Not yet:[/] {len(left)} facts are open or come from the data ({plain(str(left[0]))}, …)")
    say("Nothing was read and nothing was spent.")


def propose_tables(data: str, path: Path, place: str | None, persons: str | None) -> None:
    """Draft several tables, or one long table as persons and their rows."""
    from kagemusha.files import write_whole
    from kagemusha.proposal.related import propose_persons, propose_related

    drafted = propose_related(data, place=place) if persons is None else propose_persons(data, persons, table=place)
    write_whole(path, drafted.dumps().encode())
    for table in drafted:
        said = f"{len(table.schema)} columns"
        if table.parent is not None:
            said += f"; each row belongs to {table.parent} by {table.key}"
            said += f", in the order of {table.order}" if table.order else ", in no order"
        say(f"[bold]{plain(table.name)}[/]: {plain(said)}")
    say(f"{plain(path)}: {len(drafted.tables)} tables, {len(drafted.derived_facts())} facts taken from the data")
    say(
        f"Now open {plain(path)}, write what you know from public sources, and take what is confirmed out of "
        f"`derived`; `kagemusha schema check {plain(path)}` says what is left."
    )


def check_tables(path: Path, *, as_json: bool) -> None:
    """Say what of several tables still rests on the data, or is left open."""
    from kagemusha.errors import SchemaError
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.lint import TAKEN, check
    from kagemusha.schema.related import Related

    related = load_declared(path)
    assert isinstance(related, Related)
    found = [(f"tables.{t.name}", "derived", f"{TAKEN}{', '.join(t.derived)}") for t in related if t.derived]
    for table in related:
        remarks = (one for one in check(table.schema) if one.column not in table.keys)
        found += [(f"{table.name}: {one.column}", one.level, one.text) for one in remarks]
    if as_json:
        say_json([{"column": column, "level": level, "text": text} for column, level, text in found])
    else:
        for column, level, text in found:
            colour = {"derived": "red", "open": "red", "warning": "yellow", "note": "blue"}[level]
            say(f"[{colour}]{level:<8}[/] [bold]{plain(column)}[/]: {plain(text)}")
    left = sum(level in ("derived", "open") for _, level, _ in found)
    if left:
        raise SchemaError(f"{path}: {left} columns and tables rest on the data or are open; until then ε = ∞")
    if not as_json:
        say(f"{plain(path)}: {len(related.tables)} tables, everything declared: a release is private end to end")


FAMILIES = (
    "The coin is about a person with all rows below: the whole family is in the tables or none of it. The adversary "
    "sees each person's columns, how many rows they have, and the last rows of each table right below."
)


def attacked_families(
    data: Path,
    schema: Path | None,
    method: list[str] | None,
    budget: Budget,
    option: list[str] | None,
    release: Path | None,
    command: str | None,
) -> tuple[list[Families], GameTable, list[str]]:
    """What is attacked where several tables belong together, and everybody's record."""
    from kagemusha.attacks.synthesis.families import Families
    from kagemusha.folder.related import load_related
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.related import Related
    from kagemusha.sources.families import Family
    from kagemusha.sources.several import open_related
    from kagemusha.synthesizers.related_fit import require_models_tables

    if command is not None:
        raise UsageError("--command is for one table: a program gets one file")
    if release is not None:
        if schema is not None or method:
            raise UsageError("--release brings its own schema and method; leave --schema and --method out")
        model = load_related(release)
        related, budget, name = model.schema, model.certificate.promised, model.certificate.method
        options = {k: model.certificate.parameters[k] for k in create(name).parameters()}
    else:
        assert schema is not None
        found = load_declared(schema)
        assert isinstance(found, Related)
        related, name, options = found, (method or [DEFAULT])[0], parse_options(option)
        if len(method or []) > 1:
            raise UsageError("--method: of several tables one method is attacked at a time")
    require_models_tables(create(name, **options), budget)
    maker = Families(name, Family(related), open_related(data, related), budget, options)
    return [maker], maker.table, [FAMILIES]
