"""`account gaussian-generation`: what the randomness of drawing Gaussian doubles is worth on its own."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from kagemusha.cli.options import AdjacencyOption, JsonOption
from kagemusha.cli.output import plain, progress_bar, say, say_json, say_table
from kagemusha.errors import UsageError


def _whole(name: str, value: float) -> int:
    if not (math.isfinite(value) and value == int(value)):
        raise UsageError(f"--{name} must be a whole number, got {value}")
    return int(value)


def gaussian_generation(
    n: Annotated[float, typer.Option("--n", help="Rows of the private table (1e7 is fine); at least this many.")],
    d: Annotated[int, typer.Option("--d", help="Columns, each scaled to [-1, 1].")],
    sigma: Annotated[
        float, typer.Option("--sigma", help="Smallest eigenvalue of the covariance of every possible table.")
    ],
    m: Annotated[float | None, typer.Option("--m", help="Doubles to be released; by default as many as n.")] = None,
    delta: Annotated[float, typer.Option("--delta", help="Chance that the promise fails.")] = 1e-5,
    adjacency: AdjacencyOption = "add-remove",
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="Also the Rényi divergence of this order: (α, ε)-RDP.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", help="Also tell how much less noise reaches this ε when generation counts."),
    ] = None,
    pld: Annotated[bool, typer.Option("--pld/--no-pld", help="Also compose numerically (some seconds).")] = True,
    as_json: JsonOption = False,
) -> None:
    """What is the randomness of drawing from N(mean, covariance) worth, with no noise added at all.

    Theorems 3.1 and 3.2 of Miura et al., their paper's conversion, the optimal one, and numerical composition.
    """
    from kagemusha.privacy.generation.gaussian import GaussianGeneration
    from kagemusha.privacy.generation.noise import NoisyGeneration

    rows = _whole("n", n)
    doubles = rows if m is None else _whole("m", m)
    ours = GaussianGeneration(n=rows, d=d, sigma=sigma, m=doubles, adjacency=adjacency)
    paper = GaussianGeneration(n=rows, d=d, sigma=sigma, m=doubles, adjacency=adjacency, method="paper")
    renyi = None if alpha is None else (paper.rdp(alpha), ours.rdp(alpha))
    found: list[tuple[str, float, float | None]] = []
    with progress_bar(quiet=as_json) as progress:
        progress("converting", 0.1)
        found.append(("paper: its bound, ε + log(1/δ)/(α−1)", *paper.epsilon(delta, conversion="paper")))
        if alpha is not None:
            at_alpha = paper.epsilon(delta, conversion="paper", alpha=alpha)
            found.append(("paper: the same at the order given", *at_alpha))
        found.append(("our bound, optimal conversion", *ours.epsilon(delta, conversion="optimal")))
        if pld and adjacency == "add-remove":
            progress("composing numerically", 0.3)
            found.append(("numerical composition (PLD)", ours.epsilon(delta, conversion="pld")[0], None))
        noise = None
        if epsilon is not None:
            progress("solving for the noise", 0.8)
            noise = NoisyGeneration(n=rows, d=d, sigma=sigma, m=doubles, adjacency=adjacency).solve(epsilon, delta)
    if as_json:
        say_json(
            {
                "n": rows,
                "d": d,
                "sigma": sigma,
                "m": doubles,
                "delta": delta,
                "adjacency": adjacency,
                "renyi": None if renyi is None else {"alpha": alpha, "paper": renyi[0], "ours": renyi[1]},
                "epsilon": [{"by": name, "epsilon": value, "alpha": alpha} for name, value, alpha in found],
                "assumption": ours.assumption(),
                "noise": None
                if noise is None
                else {
                    "target": epsilon,
                    "counted": noise.counted,
                    "ignored": noise.ignored_exact,
                    "saving": noise.saving_over_exact,
                },
            }
        )
        return
    say_table(
        f"{doubles:,} doubles of {rows:,} rows, {d} columns, eigenvalues ≥ {sigma:g}, δ = {delta:g}, {adjacency}",
        ["by", "ε", "at α"],
        [[name, f"{value:.6g}", "" if alpha is None else f"{alpha:.4g}"] for name, value, alpha in found],
    )
    if renyi is not None:
        say(f"({alpha:g}, {renyi[0]:.6g})-RDP by the paper's bound, ({alpha:g}, {renyi[1]:.6g})-RDP by ours")
    if noise is not None:
        say(
            f"For ε = {epsilon:g}: noise multiplier {noise.counted:.4g} when generation counts, "
            f"{noise.ignored_exact:.4g} when it does not: {100 * noise.saving_over_exact:.0f} % less noise"
        )
    say(f"[bold]Holds only if:[/] {plain(ours.assumption())}")
