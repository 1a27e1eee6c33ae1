"""Adam on one flat vector of parameters, with a state that is bytes."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.neural.inputs import Floats

FIRST, SECOND, LEAST = 0.9, 0.999, 1e-8


class Adam:
    """Parameters in training: everything in it is made of the start and of the gradients that came in."""

    def __init__(self, start: Floats, rate: float, *, first: float = FIRST, second: float = SECOND) -> None:
        self.parameters = start.astype(np.float32)
        self.rate, self._first, self._second = rate, first, second
        self.steps = 0
        self._mean = np.zeros_like(self.parameters)
        self._square = np.zeros_like(self.parameters)

    def update(self, gradient: FloatArray | Floats) -> None:
        """One step down the gradient."""
        slope = gradient.astype(np.float32)
        self.steps += 1
        self._mean *= np.float32(self._first)
        self._mean += np.float32(1 - self._first) * slope
        self._square *= np.float32(self._second)
        self._square += np.float32(1 - self._second) * slope * slope
        size = np.sqrt(self._square / np.float32(1 - self._second**self.steps)) + np.float32(LEAST)
        self.parameters = self.parameters - np.float32(self.rate / (1 - self._first**self.steps)) * self._mean / size

    def state(self) -> bytes:
        """Steps, parameters and both memories."""
        parts = (self.parameters, self._mean, self._square)
        return struct.pack("<q", self.steps) + b"".join(part.astype("<f4").tobytes() for part in parts)

    def restore(self, state: bytes) -> None:
        """Go on from a state; raises `ValueError` if it is not one of this many parameters."""
        size = len(self.parameters)
        if len(state) != 8 + 12 * size:
            raise ValueError("not a state of this network")
        (self.steps,) = struct.unpack("<q", state[:8])
        flat: NDArray[np.float32] = np.frombuffer(state, dtype="<f4", offset=8).astype(np.float32)
        self.parameters, self._mean, self._square = (flat[i * size : (i + 1) * size].copy() for i in range(3))
