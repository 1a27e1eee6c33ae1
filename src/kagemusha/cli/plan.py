"""`plan`: before the release."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kagemusha.cli.options import AdjacencyOption, Delta, Epsilon, JsonOption, Options, check_rows, parse_options
from kagemusha.cli.output import plain, progress_bar, say, say_json, say_table
from kagemusha.cli.synth import SuitedMethod
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Adjacency

if TYPE_CHECKING:
    from kagemusha.planning.reading import Reading
    from kagemusha.planning.wanted import Solved
    from kagemusha.privacy.accountants import Accounting
    from kagemusha.privacy.budget import Budget
    from kagemusha.schema import Schema, Unit
    from kagemusha.synthesizers.protocol import Synthesizer


def plan(
    schema: Annotated[Path, typer.Argument(help="The schema file (TOML).", show_default=False)],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    method: SuitedMethod = None,
    option: Options = None,
    rows: Annotated[int | None, typer.Option(help="Roughly how many rows the table has, if that is public.")] = None,
    discover: Annotated[
        float | None, typer.Option(help="Share of the budget for what the schema leaves open, as for `synth`.")
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="A wanted error of two-way tables, such as 0.05: which ε brings it? Tried out on a stand-in."
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(help="With --error: the pairs that matter, such as age,ward. Repeatable; by default all pairs."),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="With --error: the stand-in. A released model (model.kage), or a PUBLIC table of this schema; by "
            "default one is made up."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a release will cost: budget split, memory, time, expected error. Reads no private data, spends nothing.

    With --error it answers the other way round: which ε for 5 % error on these pairs?
    """
    from kagemusha.certificate.page import in_words
    from kagemusha.files import declares_several
    from kagemusha.planning.demanded import in_words as in_words_of
    from kagemusha.planning.demanded import with_demands
    from kagemusha.planning.forecast import closed, forecast
    from kagemusha.planning.reading import reading
    from kagemusha.privacy.budget import Budget
    from kagemusha.privacy.filter import Filter
    from kagemusha.schema import Schema
    from kagemusha.synthesizers.registry import create
    from kagemusha.synthesizers.required import require_room
    from kagemusha.synthesizers.suited import suited

    check_rows(rows)
    if error is None and (pairs or like):
        raise UsageError(
            "--pairs and --like go with --error: they say whose error is wanted, and on what it is tried out"
        )
    if declares_several(schema):
        from kagemusha.cli.related import plan_related

        if discover is not None or error is not None:
            raise UsageError("--discover and --error are for one table; related tables do not have them so far")
        given = Budget(epsilon, delta, Adjacency.named(adjacency))
        plan_related(schema, given, method, parse_options(option), rows, as_json=as_json)
        return
    declared = Schema.load(schema)
    open_facts = declared.open_facts()
    _check_discover(schema, discover, [str(fact) for fact in open_facts])
    complete = closed(declared) if open_facts else declared
    budget = Budget(epsilon, delta, Adjacency.named(adjacency), declared.unit.max_rows)
    chosen = None if method else suited(declared)
    method = method or suited(declared).method
    synthesizer = create(method, **parse_options(option))
    solved = None
    if error is not None:
        solved = _solve(synthesizer, complete, budget, error, pairs or [], rows, like, quiet=as_json)
        budget = Budget(solved.epsilon, delta, budget.adjacency, budget.rows)
    require_room(synthesizer, complete, complete.domain)
    cost = with_demands(synthesizer.plan(complete.domain, budget), complete)
    demanded = in_words_of(complete, synthesizer, budget, rows)
    schedule = synthesizer.schedule_for(complete, budget)
    limit = Filter(budget, synthesizer.accounting, schedule=schedule)
    steps = f"{len(schedule)} declared steps" if schedule else f"{limit.total:.4g}"
    expected = forecast(complete, synthesizer, cost, budget, rows=rows, discover=discover)
    read = reading(synthesizer, complete)
    if as_json:
        say_json(
            {
                "method": method,
                "why": "" if chosen is None else chosen.why,
                "budget": {"epsilon": budget.epsilon, "delta": delta, "adjacency": adjacency, "rows": budget.rows},
                "accounting": synthesizer.accounting,
                "total": limit.total,
                "split": dict(expected.steps),
                "cells": cost.cells,
                "megabytes": expected.megabytes,
                "seconds": {"about": expected.seconds, "at_most": expected.at_most},
                "phases": {p.name: {"about": p.seconds, "at_most": p.at_most} for p in expected.phases},
                "reading": {**asdict(read), "bytes moved": read.moved(expected.rows)},
                "rows": expected.rows,
                "error": expected.error,
                "demanded": list(demanded),
                "solved": None if solved is None else asdict(solved),
                "derived": [str(fact) for fact in declared.derived_facts()],
                "open": [str(fact) for fact in open_facts],
            }
        )
        return
    if solved is not None and error is not None:
        _say_solved(solved, error, like)
    say(f"[bold]{method}[/]: {synthesizer.summary}")
    if chosen is not None:
        say(f"Why         {plain(chosen.why)} (--method takes another one)")
    say_table("Budget", ["spent on", "share"], [[what, f"{100 * share:.1f}%"] for what, share in expected.steps])
    about = f"{expected.rows:,} rows" + ("" if rows else " (--rows N for yours)")
    parts = [*((p.name, p.seconds, p.at_most) for p in expected.phases)]
    parts.append(("all of it", expected.seconds, expected.at_most))
    taken = [[name, _duration(usual), _duration(most)] for name, usual, most in parts]
    say_table(f"CPU time for {about}", ["part", "about", "at most"], taken)
    say(f"Promise     {budget.in_words()} ({synthesizer.accounting}: {steps})")
    say(f"In words    {plain(in_words(budget, synthesizer.accounting))}")
    say(f"About       {plain(_about(declared.unit, budget, synthesizer.accounting))}")
    for sentence in demanded:
        say(f"Demanded    {plain(sentence)}")
    for event in schedule:
        if event.drawn_rows:
            say(f"Hidden by   {plain(event.noise_in_words)}; no more rows can ever be drawn")
    names = complete.domain.names
    say(f"Columns     {len(names)} ({plain(', '.join(names[:8]))}{', …' if len(names) > 8 else ''})")
    say(f"Reading     {plain(_reading(read, expected.rows))}")
    say(f"Memory      at most about {expected.megabytes:,.0f} MB; the model has up to {cost.cells:,} cells")
    if expected.error is not None:
        say(
            f"Error       two-way tables off by about {100 * expected.error:.1f} % of {rows:,} rows "
            f"({50 * expected.error:.1f} "
            "of 100 doubles in a wrong cell), as in tables of this shape; more or less as columns depend on each other"
        )
    elif cost.error is not None:
        say("Error       --rows N tells what error to expect")
    if open_facts:
        say(
            f"Open        {len(open_facts)} facts are found in the data, with {100 * (discover or 0):g} % of the "
            "budget; until then columns are taken to have typical sizes"
        )
    derived = declared.derived_facts()
    if derived:
        say(
            f"[yellow]Not yet private:[/] {len(derived)} facts come from the data; see `kagemusha schema check "
            f"{plain(schema)}`"
        )
    say(
        "Nothing was read and nothing was spent." if like is None else "No private data was read and nothing was spent."
    )


def _check_discover(schema: Path, discover: float | None, open_facts: list[str]) -> None:
    if discover is not None and not 0 < discover < 1:
        raise UsageError(f"--discover must be greater than 0 and less than 1, got {discover}")
    if discover is not None and not open_facts:
        raise UsageError(f"--discover {discover:g} has nothing to find: {schema} leaves no categories or bounds open")
    if discover is None and open_facts:
        shown = ", ".join(open_facts[:5]) + (", …" if len(open_facts) > 5 else "")
        raise UsageError(
            f"{len(open_facts)} facts of {schema} are open ({shown}): say what share of the budget shall find them, as "
            f"in `kagemusha plan {shlex.quote(str(schema))} --discover 0.05`"
        )


def _solve(
    synthesizer: Synthesizer,
    schema: Schema,
    budget: Budget,
    wanted: float,
    pairs: list[str],
    rows: int | None,
    like: Path | None,
    *,
    quiet: bool,
) -> Solved:
    """Try the method out on a stand-in until the error is the wanted one."""
    import numpy as np

    from kagemusha.evaluation.tables import read_table
    from kagemusha.models.model import load_model
    from kagemusha.planning.wanted import STAND_IN_ROWS, STAND_INS, made_up, pairs_of, solve_epsilon
    from kagemusha.planning.wanted import like as like_model
    from kagemusha.quality.projectable import CodedTable, same_columns

    if not 0 < wanted < 2:
        raise UsageError(f"--error must be greater than 0 and less than 2 (a share of records, L1), got {wanted:g}")
    if rows is None and like is None:
        raise UsageError(
            "--error needs --rows: the same noise is a small error in a long table and a large one in a short one"
        )
    chosen = pairs_of(schema.domain, pairs)
    rng = np.random.default_rng(0)
    with progress_bar(quiet=quiet) as progress:
        progress("making a stand-in", 0.0)
        if like is None:
            codes = [made_up(schema, min(rows or 0, STAND_IN_ROWS), rng=rng) for _ in range(STAND_INS)]
        elif like.suffix == ".kage":
            model = load_model(like)
            same_columns(model, CodedTable.of_codes(schema, np.zeros((1, len(schema.domain)), dtype=np.int64)))
            codes = [like_model(model, min(rows or model.rows, STAND_IN_ROWS), rng=rng) for _ in range(STAND_INS)]
        else:
            table = read_table(like, schema).sampled(rows, rng)
            codes = [np.stack(table.columns, axis=1).astype(np.int64)]
        return solve_epsilon(synthesizer, schema, codes, budget, wanted, chosen, progress=progress)


def _say_solved(solved: Solved, wanted: float, like: Path | None) -> None:
    stand_in = "a made-up table of this schema" if like is None else plain(like.name)
    if solved.reached:
        say(f"[bold]ε = {solved.epsilon:g}[/] for an error of {100 * wanted:g} %, tried out on {stand_in}:")
    else:
        say(
            f"[bold]No ε in reach[/] brings an error of {100 * wanted:g} % on {stand_in}; nearest, ε = "
            f"{solved.epsilon:g}:"
        )
    tried = [[f"{epsilon:.3g}", f"{100 * error:.2f} %"] for epsilon, error in solved.tried]
    say_table("", ["ε tried", "error"], tried)


def _about(unit: Unit, budget: Budget, accounting: Accounting) -> str:
    """Whom the promise is about, and what that costs."""
    from kagemusha.certificate.page import group_promise
    from kagemusha.privacy.accountants import ACCOUNTANTS
    from kagemusha.privacy.budget import Budget

    if not unit:
        return (
            "single rows: someone with several rows is protected less. If persons have several, declare [unit] in "
            "the schema"
        )
    whose = f"persons, distinguished by {unit.column!r}" if unit.column else "persons"
    if unit.max_rows == 1:
        return f"{whose}, with one row of each: the noise is that of a promise about single rows"
    if ACCOUNTANTS[accounting].declared:
        return (
            f"{whose}, up to {unit.max_rows} rows each. All rows of a person are clipped together in training, whose "
            f"noise is that "
            f"of a promise about single rows; sums that are released before it get {unit.max_rows} times the noise"
        )
    single = Budget(budget.epsilon, budget.delta, budget.adjacency)
    same = group_promise(single, accounting, unit.max_rows).epsilon
    return (
        f"{whose}, up to {unit.max_rows} rows each: {unit.max_rows} times the noise of a promise about single rows, "
        f"which at the same ε would be worth ε = {same:.3g} to a person. A smaller max_rows means less noise, and more "
        "rows left out"
    )


def _reading(read: Reading, rows: int) -> str:
    """How often the table is read, and what comes over."""
    moved, codes = read.moved(rows) / 1e6, read.code_bytes * rows / 1e6
    scans = ", ".join(f"{times} times in {engine}" for engine, times in read.scans.items())
    return (
        f"a file once, and its codes are kept ({codes:,.0f} MB, on disk beyond 256 MB). It is read {scans}, from which "
        f"{'the codes of all rows and ' if read.records else ''}at most about {max(0.1, moved):,.1f} MB come over"
        f"{_as_they_are(read)}"
    )


def _as_they_are(read: Reading) -> str:
    """Which rows leave an engine uncounted; odd spellings may make others do so, too."""
    named = ", ".join(f"{name} ({why})" for name, why in read.raw.items())
    return f", and as they are all rows with a value in {named}" if named else ""


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(0.1, seconds):.1f} s"
    return f"{seconds / 60:.0f} min"
