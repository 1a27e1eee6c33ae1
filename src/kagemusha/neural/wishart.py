"""Wishart noise for PCA, as the P3GM paper has it. **Not differentially private**: here for comparison alone.

The noise is a positive semidefinite matrix, so that Σxxᵀ + W is never below Σxxᵀ: outputs that one table can give are
impossible for its neighbour. For a record x of norm one, 1/xᵀ(S + W)⁻¹x is at least one if x alone is in S, and
exponential with mean 3/ε if nobody is, in every dimension: with probability 1 − exp(−ε/3) the output tells for sure
that x is not there.
"""

from __future__ import annotations

import numpy as np

from kagemusha.arrays import FloatArray

REASON = (
    "Wishart noise on PCA is not differentially private: it only ever adds, so some outputs rule a person out "
    "for certain"
)


def wishart_noise(width: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """W ~ Wishart(width + 1, 3/(2ε)·I), the noise for Σxxᵀ over records of norm at most one."""
    rows = rng.standard_normal((width + 1, width))
    return np.asarray(1.5 / epsilon * rows.T @ rows)
