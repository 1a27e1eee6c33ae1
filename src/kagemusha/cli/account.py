"""`account`: what noise costs, what an ε buys, and what an ε means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from kagemusha.cli.options import AdjacencyOption, Delta, Epsilon, JsonOption
from kagemusha.cli.output import plain, progress_bar, say, say_json, say_table
from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import Accountant
from kagemusha.privacy.budget import Adjacency
from kagemusha.privacy.events import Event

app = typer.Typer(no_args_is_help=True, help="Privacy arithmetic without data: what noise costs and what an ε means.")

LEAST_SCALE = 0.01
"""Less noise than this hides nobody: one marginal then costs an ε in the thousands."""

Times = Annotated[int, typer.Option("--times", "-n", help="How many marginals are measured with this noise.")]
Mechanism = Annotated[str, typer.Option("--mechanism", help="gaussian, laplace or exponential.")]


def _events(mechanism: str, scale: float, times: int, adjacency: Adjacency) -> Sequence[Event]:
    from kagemusha.privacy.budget import PrivacyUnit
    from kagemusha.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
    from kagemusha.privacy.query_kinds import COUNTS

    if times < 1:
        raise UsageError(f"--times must be at least 1, got {times}")
    if not 0 < scale < float("inf"):
        raise UsageError(f"the noise scale must be positive, got {scale}")
    sensitivity = PrivacyUnit(adjacency).sensitivity(COUNTS)
    if mechanism == "gaussian":
        return [GaussianEvent(what="counts", sigma=scale, l2_squared=sensitivity.l2_squared, noise="rounded")] * times
    if mechanism == "laplace":
        return [LaplaceEvent(what="counts", scale=scale, l1=sensitivity.l1)] * times
    if mechanism == "exponential":
        return [ExponentialEvent(what="choice", epsilon=1 / scale, candidates=2)] * times
    raise UsageError(f"--mechanism must be gaussian, laplace or exponential, got {mechanism!r}")


def _accountants(mechanism: str) -> list[Accountant]:
    from kagemusha.privacy.accountants import GDP, PLD, RDP, ZCDP, Pure

    return [ZCDP(), RDP(), *([GDP()] if mechanism == "gaussian" else [Pure()]), PLD()]


@app.command()
def noise(
    scale: Annotated[float, typer.Option("--scale", help="σ of Gaussian noise, b of Laplace noise, 1/ε of a choice.")],
    times: Times = 1,
    mechanism: Mechanism = "gaussian",
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    as_json: JsonOption = False,
) -> None:
    """What does this noise cost? ε under every accountant."""
    from kagemusha.privacy.budget import Budget

    Budget(1.0, delta, Adjacency.named(adjacency))
    if not LEAST_SCALE <= scale < float("inf"):
        raise UsageError(f"--scale must be at least {LEAST_SCALE} and finite, got {scale:g}")
    events = _events(mechanism, scale, times, Adjacency.named(adjacency))
    costs = {accountant.name: accountant.epsilon(events, delta) for accountant in _accountants(mechanism)}
    if as_json:
        say_json({"mechanism": mechanism, "scale": scale, "times": times, "delta": delta, "epsilon": costs})
        return
    say_table(
        f"{times} × {mechanism} noise of scale {scale:g} at δ = {delta:g}, {adjacency} adjacency",
        ["accountant", "ε"],
        [[name, f"{value:.6g}"] for name, value in costs.items()],
    )


@app.command()
def buy(
    epsilon: Epsilon,
    times: Times = 1,
    mechanism: Mechanism = "gaussian",
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    as_json: JsonOption = False,
) -> None:
    """What noise buys this ε? The smallest scale under every accountant."""
    from kagemusha.privacy.budget import Budget
    from kagemusha.privacy.calibrate import calibrate

    budget = Budget(epsilon, delta, Adjacency.named(adjacency))
    if not budget.is_finite:
        raise UsageError("--epsilon must be finite: an infinite ε needs no noise")
    _events(mechanism, 1.0, times, Adjacency.named(adjacency))
    scales = {}
    with progress_bar(quiet=as_json) as progress:
        asked = _accountants(mechanism)
        for done, accountant in enumerate(asked):
            # numerical composition comes last and takes longest
            progress(f"asking {accountant.name}", done / (2 * len(asked)))
            scales[accountant.name] = calibrate(
                lambda scale: _events(mechanism, scale, times, Adjacency.named(adjacency)),
                budget,
                accountant,
                tolerance=1e-4 if accountant.name == "pld" else 1e-6,
            )
    if as_json:
        say_json({"mechanism": mechanism, "epsilon": epsilon, "times": times, "delta": delta, "scale": scales})
        return
    say_table(
        f"{times} × {mechanism} noise within {budget.in_words()}",
        ["accountant", "scale"],
        [[name, f"{value:.6g}"] for name, value in scales.items()],
    )


@app.command()
def explain(
    epsilon: Epsilon,
    delta: Delta = 1e-9,
    adjacency: AdjacencyOption = "add-remove",
    accounting: Annotated[str, typer.Option(help="zcdp, gdp or pure: the curve behind the promise.")] = "zcdp",
    as_json: JsonOption = False,
) -> None:
    """What does this ε mean? The best any attacker can do."""
    from kagemusha.certificate.page import consequences, in_words
    from kagemusha.privacy.accountants import Accounting
    from kagemusha.privacy.budget import Budget

    if accounting not in list(Accounting):
        raise UsageError(f"--accounting must be one of {', '.join(Accounting)}, got {accounting!r}")
    budget = Budget(epsilon, delta, Adjacency.named(adjacency))
    rows = consequences(budget, Accounting(accounting))
    if as_json:
        say_json(
            [{"false positive rate": r.false_positive_rate, "true positive rate": r.true_positive_rate} for r in rows]
        )
        return
    say(plain(in_words(budget, Accounting(accounting))))
    say_table(
        "",
        ["wrongly accuses, of 100 not in the table", "recognises at most, of 100 in it"],
        [[f"{100 * r.false_positive_rate:g}", f"{100 * r.true_positive_rate:.3g}"] for r in rows],
    )
