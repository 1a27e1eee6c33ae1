"""Mirror descent with line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kagemusha.arrays import FloatArray

Oracle = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the solver stopped."""

    theta: FloatArray
    losses: list[float]
    steps: int
    converged: bool


def minimise(
    oracle: Oracle,
    target: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    *,
    tolerance: float,
    max_steps: int,
    progress: Callable[[int, float], None] | None,
) -> Solution:
    """Minimise Σ weight (μ(θ) − target)² over θ."""
    theta = start
    _, mu = oracle(theta)
    steps = 1
    gradient = weight * (mu - target)
    loss = float(gradient @ (mu - target))
    losses = [loss]
    rate = 1.0 / max(float(weight.max(initial=0.0)), 1e-300)
    small = 0
    while steps < max_steps and small < 10:
        trial = theta - rate * gradient
        _, trial_mu = oracle(trial)
        steps += 1
        trial_gradient = weight * (trial_mu - target)
        trial_loss = float(trial_gradient @ (trial_mu - target))
        if loss - trial_loss >= 0.5 * float(gradient @ (mu - trial_mu)) and trial_loss <= loss:
            small = small + 1 if loss - trial_loss <= tolerance * loss else 0
            theta, mu, gradient, loss = trial, trial_mu, trial_gradient, trial_loss
            losses.append(loss)
            if progress is not None:
                progress(steps, loss)
            rate *= 1.5
        else:
            rate *= 0.5
            small += rate < 1e-12
    return Solution(theta, losses, steps, small >= 10)
