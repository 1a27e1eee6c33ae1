"""A critic with dropout that is held to slope one, its gradients worked out by hand.

The layers are linear but for ramps (leaky) and dropout, which are factors d once a batch is fixed: h = d ⊙ (W h₋ + b).
So the slope ∂s/∂x is a product of the same matrices and factors, and the gradient of a penalty on it needs no second
pass through a graph. All contributions to a layer's gradient are one product of matrices; most of the time of a step
goes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

PENALTY = 10.0
LEAK, DROPOUT = 0.2, 0.5


class Critic:
    """Scores rows (or packs of them): higher for those that look real."""

    def __init__(self, width: int, hidden: Sequence[int], chance: torch.Generator, *, dropout: float = DROPOUT) -> None:
        self.dropout, self._chance = dropout, chance
        self.weights, self.shifts = [], []
        size = width
        for width in (*hidden, 1):
            end = size**-0.5
            self.weights.append(torch.empty(width, size).uniform_(-end, end, generator=chance))
            self.shifts.append(torch.empty(width).uniform_(-end, end, generator=chance))
            size = width

    @property
    def parameters(self) -> list[Any]:
        """All weights and shifts."""
        return [*self.weights, *self.shifts]

    def heard(self, rows: Any) -> tuple[list[Any], list[Any], Any]:
        """What every layer is given, the factors of ramps and dropout, and the scores."""
        given, factors = [rows], []
        for matrix, shift in zip(self.weights[:-1], self.shifts[:-1], strict=True):
            state = torch.addmm(shift, given[-1], matrix.T)
            factor = torch.where(state > 0, 1.0, LEAK)
            if self.dropout:
                kept = torch.rand(state.shape, generator=self._chance) >= self.dropout
                factor = factor * kept / (1 - self.dropout)
            factors.append(factor)
            given.append(state * factor)
        return given, factors, torch.addmm(self.shifts[-1], given[-1], self.weights[-1].T)[:, 0]

    def back(self, factors: Sequence[Any], ends: Any) -> list[Any]:
        """∂(Σ ends · scores) with respect to what every layer says before its factor, the first layer's first."""
        signal = ends[:, None]
        found = [signal]
        for matrix, factor in zip(self.weights[:0:-1], factors[::-1], strict=True):
            signal = (signal @ matrix) * factor
            found.insert(0, signal)
        return found

    def slopes(self, rows: Any) -> Any:
        """∂score/∂row of each row."""
        _, factors, scores = self.heard(rows)
        return self.back(factors, torch.ones_like(scores))[0] @ self.weights[0]

    def gradient_penalty(self, between: Any) -> tuple[list[tuple[Any, Any]], float]:
        """The penalty on slopes other than one at some rows.

        For each layer v and p with gradient vᵀp, and the penalty itself.
        """
        _, folds, flat = self.heard(between)
        chain = self.back(folds, torch.ones_like(flat))  # v of each layer; the slope is v₁W₁
        slope = chain[0] @ self.weights[0]
        norms = slope.norm(2, dim=1, keepdim=True)
        push = slope * (2 * PENALTY / len(between) * (norms - 1) / norms.clamp_min(1e-12))
        found = []
        for at, (matrix, value) in enumerate(zip(self.weights, chain, strict=True)):
            found.append((value, push))
            if at < len(folds):
                push = (push @ matrix.T) * folds[at]
        return found, PENALTY * float(((norms - 1) ** 2).mean())

    def gradients(self, fake: Any, real: Any, between: Any) -> float:
        """Leave ∂(mean score of fakes − of real rows + penalty) in `.grad` of all parameters; returns that loss."""
        both = torch.cat([fake, real])
        given, factors, scores = self.heard(both)
        ends = torch.cat([torch.full((len(fake),), 1 / len(fake)), torch.full((len(real),), -1 / len(real))])
        signals = self.back(factors, ends)
        gradient_penalty, penalty = self.gradient_penalty(between)
        for at, (signal, inputs, (value, push)) in enumerate(zip(signals, given, gradient_penalty, strict=True)):
            # both parts in one product: signalᵀ·inputs + vᵀ·(what pushes the slope)
            self.weights[at].grad = torch.cat([signal, value]).T @ torch.cat([inputs, push])
            self.shifts[at].grad = signal.sum(dim=0)
        return float((scores * ends).sum()) + penalty

    def towards_real(self, rows: Any) -> Any:
        """∂(−mean score)/∂row of each row: where a generator is pushed."""
        return self.slopes(rows) * (-1 / len(rows))
