"""Stacks of linear layers with ReLU between them, on torch, whose gradients come as factors.

The parameters are one flat vector; layer after layer, a matrix (outputs × inputs + 1), the last column of which is the
bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.neural.factors import Layer
from kagemusha.neural.inputs import Floats


def need_torch() -> Any:
    """Torch, or an error that says how to install it."""
    try:
        import torch
    except ImportError:
        raise UsageError("this method trains a network; install it with: pip install 'kagemusha[neural]'") from None
    return torch


@dataclass(frozen=True)
class Network:
    """The sizes of a stack: inputs, hidden layers, outputs."""

    sizes: tuple[int, ...]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Of the matrices."""
        return [(after, before + 1) for before, after in pairwise(self.sizes)]

    @property
    def parameters(self) -> int:
        """All weights."""
        return sum(a * b for a, b in self.shapes)

    @property
    def width(self) -> int:
        """Numbers that the factors of one row take."""
        return sum(a + b for a, b in self.shapes)

    def start(self, rng: np.random.Generator, *, last: float = 1.0) -> Floats:
        """Random weights of a size that keeps signals alive; `last` shrinks those of the last layer."""
        parts = []
        for i, (after, before) in enumerate(self.shapes):
            scale = math.sqrt(2 / before) if i < len(self.shapes) - 1 else last * math.sqrt(1 / before)
            matrix = rng.standard_normal((after, before)) * scale
            matrix[:, -1] = 0.0
            parts.append(matrix.ravel())
        return np.concatenate(parts).astype(np.float32)

    def matrices(self, parameters: Any) -> list[Any]:
        """The flat vector (of torch or of numpy) cut into matrices."""
        found, at = [], 0
        for after, before in self.shapes:
            found.append(parameters[at : at + after * before].reshape(after, before))
            at += after * before
        return found


@dataclass
class Tape:
    """What went into every layer and what came out, in the order of the parameters."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)

    def run(self, matrices: Sequence[Any], x: Any) -> Any:
        """A forward pass through a stack, noted down."""
        torch = need_torch()
        for i, matrix in enumerate(matrices):
            wide = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
            y = wide @ matrix.T
            if not y.requires_grad:
                y.requires_grad_()
            self.inputs.append(wide.detach())
            self.outputs.append(y)
            x = torch.relu(y) if i < len(matrices) - 1 else y
        return x

    def factors(self, loss: Any, rows: Any = None) -> list[Layer]:
        """The slopes of the rows' losses, summed, along every layer's output: each row's own, as rows do not mix."""
        torch = need_torch()
        slopes = torch.autograd.grad(loss.sum(), self.outputs)
        return [Layer(g.numpy(), a.numpy(), rows) for g, a in zip(slopes, self.inputs, strict=True)]
