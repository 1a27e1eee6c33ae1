"""Records as random Fourier features.

Cosines of random projections, whose inner products are those of a Gaussian kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kagemusha.arrays import Codes, FloatArray
from kagemusha.queries.record_vectors import Vectors, exact_product


@dataclass(frozen=True, eq=False)
class KernelVectors(Vectors):
    """√(2/m)·cos(x·directions + phases) of a record's features; directions and phases are public."""

    directions: FloatArray = field(kw_only=True)
    phases: FloatArray = field(kw_only=True)

    @property
    def width(self) -> int:
        """Cosines."""
        return int(self.directions.shape[1])

    def free(self, columns: Sequence[Codes], rows: slice) -> FloatArray:
        return self.mapped(self.raw(columns, rows))

    def mapped(self, features: FloatArray) -> FloatArray:
        """The cosines of rows of features."""
        angles = exact_product(features, self.directions) + self.phases
        return np.asarray(math.sqrt(2 / self.width) * np.cos(angles))
