"""Accelerated mirror descent over the marginal polytope, stopped where the estimated risk is least.

One step is θ ← ν − η ∇L(μ(ν)), then ν ← θ + β (θ − θ_before) with Nesterov's growing β: one belief-propagation
pass. There is no line search: the step length follows the relative smoothness seen between the last two points,
‖Δμ‖²_w / ⟨Δθ, Δμ⟩, and momentum starts afresh when it points uphill.

Fitting noisy marginals to the end also fits their noise. The noise level is known, so the risk of every iterate can
be estimated without the truth (Stein): loss − cells + 2·(degrees of freedom). The degrees of freedom come from
a twin that takes the same steps towards a slightly shifted target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.graphical.lbfgs import dot

Oracle = Callable[[FloatArray], tuple[float, FloatArray]]
"""From log potentials to (log Z, marginals), both flat."""

SAFETY = 0.7
"""Step length as a share of the inverse smoothness; 0.5 … 0.8 need the fewest passes, 1.3 twice as many."""
GROWTH = 1.1
"""How much the step may grow at once; 1.3 overshoots the limit and restarts often when the noise is small."""
SHIFT = 0.1
"""The twin's target differs by this share of each cell's noise."""
CHECKPOINT = 1.3
"""Progress is judged each time the number of steps has grown by this factor."""
FIRST_CHECKPOINT = 30


@dataclass(frozen=True, eq=False)
class Solution:
    """The chosen iterate and how it was reached."""

    theta: FloatArray
    twin: FloatArray
    loss: float
    risk: float
    """Estimated Σ (p − truth)²/σ²; the loss itself when the fit was not stopped by risk."""
    losses: tuple[float, ...]
    passes: int
    converged: bool


@dataclass
class _Path:
    """A point ν on one accelerated path, and the last plain step θ before it."""

    point: FloatArray
    plain: FloatArray

    def ahead(self, gradient: FloatArray, rate: float, momentum: float) -> _Path:
        plain = self.point - rate * gradient
        return _Path(plain + momentum * (plain - self.plain), plain)


def minimise(
    oracle: Oracle,
    target: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    *,
    signs: FloatArray | None = None,
    twin_start: FloatArray | None = None,
    tolerance: float,
    max_passes: int,
    progress: Callable[[int, float], None] | None = None,
) -> Solution:
    """Follow the path that minimises Σ weight (μ(θ) − target)²; return the best point of it.

    With `signs` (a ±1 for each cell) the best point is the one of least estimated risk, at two passes per step;
    without, the one of least loss. Ends when growing the path by `CHECKPOINT` no longer lowers that measure by
    `tolerance` of itself, or after `max_passes`.
    """
    twin = start if twin_start is None else twin_start
    if not weight.any():
        return Solution(start, twin, 0.0, 0.0, (0.0,), 0, True)
    scale = np.sqrt(weight)
    shifted = (
        target + SHIFT * np.divide(signs, scale, out=np.zeros_like(scale), where=scale > 0)
        if signs is not None
        else target
    )
    cells = float(np.count_nonzero(weight))
    floor = 0.01 * cells

    path, other = _Path(start, start), _Path(twin, twin)
    _, mu = oracle(path.point)
    gradient = weight * (mu - target)
    loss = dot(gradient, mu - target)
    losses = [loss]
    passes, age, step, checkpoint = 1, 0, 0, FIRST_CHECKPOINT
    rate = 1.0 / float(weight.max())
    best_risk, best, judged = np.inf, (path.point, other.point, loss), np.inf
    converged = False
    while passes < max_passes:
        momentum = age / (age + 3.0)
        trial = path.ahead(gradient, rate, momentum)
        _, trial_mu = oracle(trial.point)
        passes += 1
        moved = trial_mu - mu
        agreement = dot(trial.point - path.point, moved)
        smoothness = dot(weight * moved, moved) / agreement if agreement > 0 else 0.0
        limit = SAFETY / smoothness if smoothness > 0 else np.inf
        trial_gradient = weight * (trial_mu - target)
        trial_loss = dot(trial_gradient, trial_mu - target)
        rose = not trial_loss <= (2.0 * loss if age else loss)  # also true of a loss that is not a number
        uphill = rose or (age > 0 and dot(gradient, moved) > 0)
        if uphill and (age or rate > 1e-300):
            rate = min(rate, limit) if age else min(0.5 * rate, limit)
            age = 0
            path, other = _Path(path.point, path.point), _Path(other.point, other.point)
            if loss <= 1e-20 * cells or float(np.abs(rate * gradient).max()) < 1e-15:
                converged = True
                break
            continue
        risk = trial_loss
        if signs is not None:
            if step == 0:
                other_mu = mu if twin is start else oracle(other.point)[1]
            other = other.ahead(weight * (other_mu - shifted), rate, momentum)
            _, other_mu = oracle(other.point)
            passes += 1
            freedom = dot(signs * scale, other_mu - trial_mu) / SHIFT
            risk = trial_loss - cells + 2.0 * freedom
        path, mu, gradient, loss = trial, trial_mu, trial_gradient, trial_loss
        rate = min(GROWTH * rate, limit)
        age += 1
        step += 1
        losses.append(loss)
        if risk < best_risk:
            best_risk, best = risk, (path.point, other.point, loss)
        if progress is not None:
            progress(passes, loss)
        if step >= checkpoint:
            if judged - best_risk <= tolerance * max(best_risk, floor):
                converged = True
                break
            judged = best_risk
            checkpoint = int(np.ceil(CHECKPOINT * step))
    theta, twin, loss = best
    return Solution(theta, twin, loss, float(best_risk), tuple(losses), passes, converged)
