"""How much a record counts when the next marginal is chosen: more where the judge's versions disagree.

g(x) = sigmoid((A(x) − μ) / (s · sharpness⁻¹)) with A = BALD and μ, s from a *synthetic* draw: standardising over real
records would let one of them move the weights of all others. A is a whole number, so g is looked up in a table, in
units of 2⁻¹².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.annotation.judges import Judge, RecordVectors
from kagemusha.annotation.votes import UNIT, bald, most_bald
from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.privacy.query_kinds import UNITS_PER_COUNT


@dataclass(frozen=True, eq=False)
class Weights:
    """A rule from one record to its weight; made of labels and released numbers alone."""

    vectors: RecordVectors
    judge: Judge
    table: IntArray
    """The weight for every score there can be."""

    @classmethod
    def standardised(
        cls, vectors: RecordVectors, judge: Judge, drawn: Sequence[Codes], classes: int, *, sharpness: float = 1.0
    ) -> Weights | None:
        """Weights around what is usual among `drawn` synthetic records; None where all of them score alike."""
        scores = bald(judge.votes(vectors(drawn)))
        middle, spread = float(scores.mean()), float(scores.std())
        if not spread > 0:
            return None
        every = np.arange(most_bald(classes) + 1)
        return cls(vectors, judge, _sigmoid(np.asarray(sharpness * (every - middle) / spread, dtype=np.float64)))

    @classmethod
    def bare(cls, vectors: RecordVectors, judge: Judge, classes: int) -> Weights:
        """The paper's own form, sigmoid(A): hardly more than a half anywhere. For comparison."""
        return cls(vectors, judge, _sigmoid(np.arange(most_bald(classes) + 1) / UNIT))

    def __call__(self, columns: Sequence[Codes]) -> IntArray:
        """The weight of each record."""
        scores = bald(self.judge.votes(self.vectors(columns)))
        return self.table[np.minimum(scores, len(self.table) - 1)]


def _sigmoid(values: FloatArray) -> IntArray:
    """In units of 2⁻¹², rounded down."""
    with np.errstate(over="ignore"):
        return np.asarray(np.floor(UNITS_PER_COUNT / (1 + np.exp(-values))), dtype=np.int64)
