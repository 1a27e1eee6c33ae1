"""`audit`: thousands of tiny runs against a method's own promise."""

from __future__ import annotations

from typing import Annotated

import typer

from kagemusha.cli.options import AdjacencyOption, Epsilon, JsonOption, Options, parse_options
from kagemusha.cli.output import plain, progress_bar, say, say_json
from kagemusha.cli.synth import Method
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.privacy.unit import Adjacency
from kagemusha.synthesizers.registry import DEFAULT


def audit(
    method: Method = DEFAULT,
    epsilon: Epsilon = 1.0,
    delta: Annotated[float, typer.Option(help="δ of the promise; larger ones can be tested with fewer runs.")] = 1e-2,
    adjacency: AdjacencyOption = "add-remove",
    max_rows: Annotated[int, typer.Option(help="Rows of the person in whom the two worlds differ.")] = 1,
    option: Options = None,
    runs: Annotated[int, typer.Option(help="Runs in each world.")] = 2000,
    discover: Annotated[
        float | None, typer.Option(help="Leave categories open and find them with this share of the budget.")
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            help="Table to audit on: three, pair, lone, numbers, corners or mixed; by default the method's worst."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="For the same runs again.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Attack a method where it hurts most: two tiny made tables that differ in one person, every released number in sight.

    Reads no data of yours. The bound on ε and μ that is found holds with probability 0.9999. Exits with 5 if it contradicts the
    promise. No audit proves a promise; it bounds how wrong it can be.
    """
    from kagemusha.attacks.audit import audit as run
    from kagemusha.privacy.budget import Budget
    from kagemusha.synthesizers.registry import create

    if not 20 <= runs <= 10**7:
        raise UsageError(f"--runs must be at least 20 and at most 10,000,000, got {runs}")
    budget = Budget(epsilon, delta, Adjacency.named(adjacency), max_rows)
    if discover is not None and not 0 < discover < 1:
        raise UsageError(f"--discover must be greater than 0 and less than 1, got {discover}")
    choices = parse_options(option)
    if not create(method, **choices).private:
        raise UsageError(
            f"method {method!r} protects nobody, and its certificates say so; there is no promise to audit"
        )
    with progress_bar(quiet=as_json) as progress:
        found = run(
            lambda: create(method, **choices),
            budget,
            runs=runs,
            seed=seed,
            discover=discover,
            table=table,
            progress=progress,
        )
    if as_json:
        told = {
            "method": method,
            "epsilon": epsilon,
            "delta": delta,
            "adjacency": adjacency,
            "rows": max_rows,
            "runs": runs,
        }
        proof = {"mu": found.found.mu, "epsilon": found.found.epsilon, "accuracy": found.found.accuracy}
        say_json({**told, "promised mu": found.promised_mu, "proved": proof, "verdict": found.verdict})
    else:
        say(f"[bold]{plain(method)}[/], {budget.in_words()}: {2 * runs:,} runs")
        say(f"Promised   ε = {epsilon:g} (μ = {found.promised_mu:.4g})")
        say(
            f"Proved     ε ≥ {found.found.epsilon:.4g}, μ ≥ {found.found.mu:.4g}; the attacker is right in {100 * found.found.accuracy:.1f} %"
        )
        say(f"Verdict    {found.verdict}")
    if found.verdict.startswith("BROKEN"):
        raise PrivacyError(f"the audit of {method!r} contradicts its promise")
