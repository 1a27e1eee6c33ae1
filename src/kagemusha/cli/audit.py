"""`audit`: thousands of tiny runs against a method's own promise."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from kagemusha.cli.options import AdjacencyOption, Epsilon, JsonOption, Options, parse_options
from kagemusha.cli.output import plain, progress_bar, say, say_json
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.privacy.budget import Adjacency
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.registry import DEFAULT, names

LOOPS = ("aim-bald", "kage-bald")
"""Methods of `annotate`: they ask people, so no other command takes them."""


AuditedMethod = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help=f"One of: {', '.join((*names(), *LOOPS))}; the last two are the loops of `annotate`, whose labels a rule "
        f"gives.",
    ),
]


def audit(
    method: AuditedMethod = DEFAULT,
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
    """Attack a method where it hurts most.

    Two tiny constructed tables that differ in one person, every released number in sight. Reads no data of yours. The
    bound on ε and μ that is found holds with probability 0.9999. Exits with 5 if it contradicts the promise. No audit
    proves a promise; it bounds how wrong it can be.
    """
    from kagemusha.attacks.audit import audit as run
    from kagemusha.attacks.worst_case import OPTIONS
    from kagemusha.privacy.budget import Budget
    from kagemusha.synthesizers.registry import create

    if not 20 <= runs <= 10**7:
        raise UsageError(f"--runs must be at least 20 and at most 10,000,000, got {runs}")
    budget = Budget(epsilon, delta, Adjacency.named(adjacency), max_rows)
    if discover is not None and not 0 < discover < 1:
        raise UsageError(f"--discover must be greater than 0 and less than 1, got {discover}")
    choices = {**OPTIONS.get(method, {}), **parse_options(option)}
    make = partial(_loop if method in LOOPS else create, method, **choices)
    if not make().private:
        raise UsageError(
            f"method {method!r} protects nobody, and its certificates say so; there is no promise to audit"
        )
    with progress_bar(quiet=as_json) as progress:
        found = run(
            make,
            budget,
            runs=runs,
            seed=seed,
            discover=discover,
            table=table,
            progress=progress,
        )
    if as_json:
        summary = {
            "method": method,
            "epsilon": epsilon,
            "delta": delta,
            "adjacency": adjacency,
            "rows": max_rows,
            "runs": runs,
        }
        proof = {
            "mu": found.found.mu,
            "rho": found.found.rho,
            "epsilon": found.found.epsilon,
            "accuracy": found.found.accuracy,
        }
        say_json({**summary, "promised mu": found.promised_mu, "proved": proof, "verdict": found.verdict})
    else:
        say(f"[bold]{plain(method)}[/], {budget.in_words()}: {2 * runs:,} runs")
        say(f"Promised   ε = {epsilon:g} (μ = {found.promised_mu:.4g})")
        say(
            f"Proved     ε ≥ {found.found.epsilon:.4g}, μ ≥ {found.found.mu:.4g}; the attacker is right in "
            f"{100 * found.found.accuracy:.1f} %"
        )
        say(f"Verdict    {found.verdict}")
    if found.contradicted:
        raise PrivacyError(f"the audit of {method!r} contradicts its promise")


def _loop(method: str, **choices: Any) -> Synthesizer:
    """A loop of `annotate` whose labels come at once from a public rule.

    The audit is of what it reads, not of who labels.
    """
    from kagemusha.annotation.desk import SimulatedDesk
    from kagemusha.annotation.loop import Annotated as Choices

    small = {"rounds": 3, "labels": 12, "first": 4, "pool": 60, "judge": "forest"}
    settings = Choices(loop="aim" if method == "aim-bald" else "kage", **{**small, **choices})
    return settings.at(SimulatedDesk(lambda codes: codes.sum(axis=1) % settings.classes))
