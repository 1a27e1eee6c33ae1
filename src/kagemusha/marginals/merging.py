"""Several noisy answers to one question, as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kagemusha.arrays import FloatArray

Answer = TypeVar("Answer", float, FloatArray)


def merged(answers: Iterable[tuple[Answer, float]]) -> tuple[Answer, float]:
    """The mean of at least one answer, each counting by its weight, and the sum of the weights.

    With weights 1/σ² no unbiased mean has less noise, and the sum is the 1/σ² of that mean.

    >>> merged([(8.0, 1.0), (12.0, 3.0)])
    (11.0, 4.0)
    """
    (total, weights), *others = ((weight * answer, weight) for answer, weight in answers)
    for part, weight in others:
        total = total + part
        weights += weight
    return total / weights, weights
