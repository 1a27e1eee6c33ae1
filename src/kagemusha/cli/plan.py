"""`plan`: before the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kagemusha.cli.options import AdjacencyOption, Delta, Epsilon, JsonOption, Options, check_rows, parse_options
from kagemusha.cli.output import plain, say, say_json, say_table
from kagemusha.cli.synth import SuitedMethod
from kagemusha.privacy.unit import Adjacency

if TYPE_CHECKING:
    from kagemusha.privacy.accountants import Accounting
    from kagemusha.privacy.budget import Budget
    from kagemusha.schema import Unit


def plan(
    schema: Annotated[Path, typer.Argument(help="The schema file (TOML).", show_default=False)],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    method: SuitedMethod = None,
    option: Options = None,
    rows: Annotated[int | None, typer.Option(help="Roughly how many rows the table has, if that is public.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a release will cost: budget split, memory, time, expected error. Reads no data, spends nothing."""
    from kagemusha.certificate.consequence import in_words
    from kagemusha.privacy.budget import Budget
    from kagemusha.privacy.filter import Filter
    from kagemusha.schema import Schema
    from kagemusha.synthesizers.registry import create
    from kagemusha.synthesizers.suited import suited

    check_rows(rows)
    declared = Schema.load(schema)
    budget = Budget(epsilon, delta, Adjacency.named(adjacency), declared.unit.max_rows)
    chosen = None if method else suited(declared)
    method = method or suited(declared).method
    synthesizer = create(method, **parse_options(option))
    cost = synthesizer.plan(declared.domain, budget)
    schedule = synthesizer.schedule(declared.domain, budget)
    limit = Filter(budget, synthesizer.accounting, schedule=schedule)
    unit = f"{len(schedule)} declared steps" if schedule else f"{limit.total:.4g}"
    error = None if cost.error is None or not rows else cost.error / rows
    if as_json:
        say_json(
            {
                "method": method,
                "why": "" if chosen is None else chosen.why,
                "budget": {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "rows": budget.rows},
                "accounting": synthesizer.accounting,
                "total": limit.total,
                "split": dict(cost.steps),
                "cells": cost.cells,
                "megabytes": cost.megabytes,
                "seconds": cost.seconds,
                "error": error,
                "derived": [str(fact) for fact in declared.derived_facts()],
            }
        )
        return
    say(f"[bold]{method}[/]: {synthesizer.summary}")
    if chosen is not None:
        say(f"Why         {plain(chosen.why)} (--method takes another one)")
    say_table("Budget", ["spent on", "share"], [[what, f"{100 * share:.1f}%"] for what, share in cost.steps])
    say(f"Promise     {budget.in_words()} ({synthesizer.accounting}: {unit})")
    say(f"In words    {plain(in_words(budget, synthesizer.accounting))}")
    say(f"About       {plain(_about(declared.unit, budget, synthesizer.accounting))}")
    say(
        f"Columns     {len(declared.domain)} ({plain(', '.join(declared.domain.names[:8]))}{', …' if len(declared.domain) > 8 else ''})"
    )
    say(f"Model       at most {cost.cells:,} cells, about {cost.megabytes:.0f} MB of memory")
    say(f"Time        up to about {_duration(cost.seconds)}")
    if error is not None:
        say(f"Error       two-way tables off by about {100 * min(error, 2.0):.1f}% of {rows:,} rows, from noise alone")
    elif cost.error is not None:
        say(
            f"Error       two-way tables off by about {cost.error:,.0f} records in all, from noise alone (--rows N for a share)"
        )
    derived = declared.derived_facts()
    if derived:
        say(
            f"[yellow]Not yet private:[/] {len(derived)} facts come from the data; see `kagemusha schema check {plain(schema)}`"
        )
    say("Nothing was read and nothing was spent.")


def _about(unit: Unit, budget: Budget, accounting: Accounting) -> str:
    """Whom the promise is about, and what that costs."""
    from kagemusha.certificate.consequence import group_promise
    from kagemusha.privacy.accountants import Accounting
    from kagemusha.privacy.budget import Budget

    if not unit:
        return "single rows: someone with several rows is protected less. If persons have several, declare [unit] in the schema"
    whose = f"persons, told apart by {unit.column!r}" if unit.column else "persons"
    if unit.max_rows == 1:
        return f"{whose}, with one row of each: the noise is that of a promise about single rows"
    if accounting is Accounting.SCHEDULE:
        return (
            f"{whose}, up to {unit.max_rows} rows each. All rows of a person are clipped together in training, whose noise is that "
            f"of a promise about single rows; sums that are released before it get {unit.max_rows} times the noise"
        )
    single = Budget(budget.epsilon, budget.delta, budget.adjacency)
    same = group_promise(single, accounting, unit.max_rows).epsilon
    return (
        f"{whose}, up to {unit.max_rows} rows each: {unit.max_rows} times the noise of a promise about single rows, which at "
        f"the same ε would be worth ε = {same:.3g} to a person. A smaller max_rows means less noise, and more rows left out"
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min"
