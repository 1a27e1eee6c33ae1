"""Limited-memory BFGS for smooth convex functions: few lines, no threads, the same digits on every run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from kagemusha.arrays import FloatArray

MEMORY, FEWEST, KEPT = 20, 6, 1 << 22
"""Steps that are remembered, and at least how many; in between, so many that they hold this many numbers."""


def dot(a: FloatArray, b: FloatArray) -> float:
    """The inner product, in one thread: BLAS shares long ones out, which changes digits and crawls on busy cores."""
    return float(np.einsum("i,i", a, b))


DECREASE = 1e-4
"""A step must bring this share of the decrease its slope promises."""

WINDOW = 20
"""Progress is judged over this many calls."""


def lbfgs(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    max_calls: int,
    progress: float,
) -> FloatArray:
    """The minimiser of `function`, which returns value and gradient; at most `max_calls` calls.

    Stops when the last calls together lowered the value by less than `progress`, or when rounding leaves nothing to
    gain.
    """
    x = start
    value, gradient = function(x)
    calls = 1
    values = [value]
    pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(
        maxlen=int(np.clip(KEPT // len(start), FEWEST, MEMORY)) if len(start) else MEMORY
    )
    while calls < max_calls and gradient.any():
        if calls > WINDOW and values[-1 - WINDOW] - value < progress:
            break
        direction = -_times_inverse_hessian(gradient, pairs)
        slope = dot(gradient, direction)
        step = 1.0 if pairs else min(1.0, 1.0 / float(np.abs(gradient).sum()))
        while True:
            trial = x + step * direction
            trial_value, trial_gradient = function(trial)
            calls += 1
            values.append(min(value, trial_value))
            if trial_value <= value + DECREASE * step * slope or calls >= max_calls:
                break
            # the minimum of the parabola through both values and the slope, kept within reason
            curve = trial_value - value - step * slope
            step *= min(0.5, max(0.1, -0.5 * step * slope / curve)) if curve > 0 else 0.5
            if step < 1e-10:
                return x
        if not trial_value <= value:
            return x
        moved, turned = trial - x, trial_gradient - gradient
        curvature = dot(moved, turned)
        if curvature > 0:
            pairs.append((moved, turned, curvature))
        x, value, gradient = trial, trial_value, trial_gradient
    return x


def _times_inverse_hessian(gradient: FloatArray, pairs: deque[tuple[FloatArray, FloatArray, float]]) -> FloatArray:
    """Nocedal's two loops."""
    q = gradient.copy()
    shares = []
    for moved, turned, curvature in reversed(pairs):
        share = dot(moved, q) / curvature
        shares.append(share)
        q -= share * turned
    if pairs:
        _, turned, curvature = pairs[-1]
        q *= curvature / dot(turned, turned)
    for (moved, turned, curvature), share in zip(pairs, reversed(shares), strict=True):
        q += (share - dot(turned, q) / curvature) * moved
    return q
