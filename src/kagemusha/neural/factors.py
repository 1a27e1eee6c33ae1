"""Gradients of rows, without writing them out.

The gradient of one row at a linear layer y = W·(x, 1) is the outer product of what came out of it (the loss's slope
along y) and what went in (x, 1). So the gradients of all rows are two thin matrices a layer instead of one number for
each row and weight: their norms and their sums need nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Layer:
    """One linear layer's part: for some rows, `slopes` (rows × outputs) and `inputs` (rows × inputs + 1).

    `rows` says which rows these are, if not all in their order: other rows do not reach the layer, and their gradient
    is 0.
    """

    slopes: FloatArray
    inputs: FloatArray
    rows: IntArray | None = None

    @property
    def size(self) -> int:
        """Weights of the layer."""
        return int(self.slopes.shape[1] * self.inputs.shape[1])

    def of(self, count: int) -> IntArray:
        """Which of `count` rows these are."""
        return np.arange(count) if self.rows is None else self.rows


@dataclass(frozen=True, eq=False)
class Factors:
    """The gradients of `count` rows: layer by layer, each layer's weights row by row, as in the parameters."""

    count: int
    layers: Sequence[Layer]

    @property
    def parameters(self) -> int:
        """Length of a gradient."""
        return sum(layer.size for layer in self.layers)

    def dense(self) -> FloatArray:
        """Every row's gradient written out; for small networks and for tests."""
        found = np.zeros((self.count, self.parameters))
        at = 0
        for layer in self.layers:
            outer = np.einsum("ni,nj->nij", layer.slopes.astype(np.float64), layer.inputs.astype(np.float64))
            found[layer.of(self.count), at : at + layer.size] = outer.reshape(len(outer), -1)
            at += layer.size
        return found
