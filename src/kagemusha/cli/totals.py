"""`totals`: how many people of the population stand behind a survey, by category, as a charged question."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kagemusha.cli.asking import (
    WITHIN_95,
    CapOption,
    KeyOption,
    PaidAnswer,
    Payment,
    ask,
    require_free,
)
from kagemusha.cli.options import (
    AdjacencyOption,
    DatasetOption,
    Delta,
    JsonOption,
    LedgerOption,
    Policy,
    TableOption,
    TimeoutOption,
)
from kagemusha.cli.output import plain, progress_bar, say, say_json, say_table
from kagemusha.errors import UsageError

if TYPE_CHECKING:
    from kagemusha.schema import Schema
    from kagemusha.schema.related import Related

MOST_GROUPS = 2_000
"""Groups that are listed; more are for --json."""


def totals(
    data: Annotated[
        str,
        typer.Argument(
            help="The private survey: a CSV or Parquet file, or a database with --table, as `synth` takes it.",
            show_default=False,
        ),
    ],
    schema: Annotated[
        Path, typer.Option("--schema", "-s", help="The schema file (TOML), with [weight].", show_default=False)
    ],
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="What this question may cost, such as 0.1.", show_default=False)
    ],
    by: Annotated[
        list[str] | None, typer.Option("--by", help="A column to split the total by. Repeatable.", show_default=False)
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            help="Where the schema declares several tables: whose rows are summed; by default those of the lowest one "
            "that --by names, or persons.",
            show_default=False,
        ),
    ] = None,
    table: TableOption = None,
    timeout: TimeoutOption = None,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    policy: Policy = "default",
    cap: CapOption = None,
    key: KeyOption = "",
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="File to write the certificate of the answer to (JSON).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Population totals of a survey with noise: the sum of its weights, in all or by category, each with an interval.

    The schema names the column of weights ([weight] with column = "…") and declares the largest one, which bounds what
    one record can move. The answer is paid for in the ledger before the table is counted, and may be published.
    """
    from kagemusha.queries.weighted_counts import WeightedCounts
    from kagemusha.schema.declared import load_declared
    from kagemusha.schema.related import Related
    from kagemusha.sources import open_source

    declared = load_declared(schema)
    require_free(certificate)
    payment = Payment(epsilon, delta, adjacency, ledger, dataset, policy, cap, key)
    if isinstance(declared, Related):
        asked = _of_tables(data, declared, by or [], of, table, timeout, payment, quiet=as_json)
        _tell(*asked, certificate, as_json=as_json)
        return
    if of is not None:
        raise UsageError("--of is for a schema of several tables")
    for name in by or ():
        if name not in declared.domain:
            raise UsageError(
                f"--by {name!r}: no modelled column of that name; there are {', '.join(declared.domain.names)}"
            )
    query = WeightedCounts(declared, tuple(by or ()))
    source = open_source(data, declared, table=table, timeout=timeout)
    with progress_bar(quiet=as_json) as progress:
        progress("counting", 0.1)
        paid = ask(data, source, query, payment)
    _tell(declared, paid.answer, query.weight, "people", paid, certificate, as_json=as_json)


def _of_tables(
    data: str,
    related: Related,
    by: list[str],
    of: str | None,
    place: str | None,
    timeout: float | None,
    payment: Payment,
    *,
    quiet: bool,
) -> tuple[Schema, Any, str, str, PaidAnswer[Any]]:
    """The totals of one of several tables."""
    from kagemusha.release.related_totals import question
    from kagemusha.sources.several import open_related

    wanted = question(related, by, of)
    with progress_bar(quiet=quiet) as progress:
        progress("linking", 0.1)
        source = open_related(data, related, place=place, timeout=timeout)
        progress("counting", 0.6)
        whole = {"declared": related, "share": wanted.share, "identity": source.identity()}
        named = replace(payment, dataset=payment.dataset or source.name)
        paid = ask(data, source.source(wanted.table.name), wanted.query, named, **whole)
    people = "people" if wanted.table.parent is None else f"rows of {wanted.table.name}"
    return wanted.schema, wanted.totals(paid.answer), wanted.query.weight, people, paid


def _tell(
    schema: Schema,
    found: Any,
    weight: str,
    people: str,
    paid: PaidAnswer[Any],
    certificate: Path | None,
    *,
    as_json: bool,
) -> None:
    """Say what was found, group by group."""
    paid.save(certificate)
    groups = _groups(schema, found.clique, found.values)
    off = WITHIN_95 * found.sigma
    if as_json:
        listed = [{**dict(zip(found.clique, names, strict=True)), "people": count} for names, count in groups]
        summary = {"by": list(found.clique), "of": people, "totals": listed, "off by at most, 95 of 100": off}
        say_json({**summary, **paid.to_json()})
        return
    rows = [
        [*names, f"{count:,.0f}", f"{max(0.0, count - off):,.0f} to {max(0.0, count + off):,.0f}"]
        for names, count in groups
    ]
    say_table(
        "Population totals, with noise", [*found.clique, people, "95 of 100 such intervals hold"], rows[:MOST_GROUPS]
    )
    if len(rows) > MOST_GROUPS:
        say(f"The first {MOST_GROUPS:,} of {len(rows):,} groups; --json lists all.")
    say(
        f"Off by at most about {off:,.0f} {people} because of the noise, in 95 of 100 cases; that the sample is a "
        f"sample comes on top. A record counts for the middle of the bin that its {plain(weight)} is in."
    )
    paid.say()


def _groups(schema: Any, clique: tuple[str, ...], values: Any) -> list[tuple[tuple[str, ...], float]]:
    names = [schema[name].code_names for name in clique]
    return list(zip(product(*names), map(float, values.ravel()), strict=True))
