"""How sure a classifier is, in whole numbers.

Several versions of a classifier (passes with different units left out, or the trees of a forest) vote on each record: a
share for every class, in units of 2⁻¹². From there on everything is integers and tables, so the score of a record is
the same bit for bit whatever stands before or after it. Private records are scored too (inside the Curator), and one
that came or went must not move the score of another.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from kagemusha.arrays import FloatArray, IntArray

ONE = 2**12
"""A whole vote."""

UNIT = 2**20
"""A nat of information, in the units of scores."""

_STEP, _DEEPEST = 2**8, 16
"""Logits are read in steps of 2⁻⁸; what lies 16 below the largest is as good as ruled out."""


def votes_of(logits: IntArray) -> IntArray:
    """Votes from logits in units of 2⁻⁸ (passes, records, classes).

    A softmax by table, each record's votes summing to ONE.
    """
    below = np.maximum(logits - logits.max(axis=-1, keepdims=True), -_DEEPEST * _STEP)
    raised = _powers()[-below]
    return _completed(np.asarray(raised * ONE // raised.sum(axis=-1, keepdims=True)))


def whole_votes(shares: FloatArray) -> IntArray:
    """Votes from shares that sum to about one, record by record."""
    return _completed(np.floor(np.nan_to_num(shares, nan=0.0).clip(0, 1) * ONE).astype(np.int64))


def _completed(votes: IntArray) -> IntArray:
    """What rounding down left over goes to the first of the largest."""
    largest = votes.argmax(axis=-1)[..., None]
    left = ONE - votes.sum(axis=-1, keepdims=True)
    np.put_along_axis(votes, largest, np.take_along_axis(votes, largest, -1) + left, -1)
    return votes


def entropy(votes: IntArray) -> IntArray:
    """H[E p]: how unsure the versions are together, for each record, in units of 2⁻²⁰ nats."""
    return np.asarray(_entropies(len(votes) * ONE)[votes.sum(axis=0)].sum(axis=-1))


def bald(votes: IntArray) -> IntArray:
    """H[E p] − E H[p]: what the versions disagree about, for each record, in units of 2⁻²⁰ nats; never below 0."""
    alone = _entropies(ONE)[votes].sum(axis=(0, -1)) // len(votes)
    return np.asarray(np.maximum(entropy(votes) - alone, 0))


def most_bald(classes: int) -> int:
    """The largest score there is: log of the number of classes."""
    return math.ceil(math.log(max(2, classes)) * UNIT)


@lru_cache(maxsize=1)
def _powers() -> IntArray:
    """e^(−k/256) in units of 2⁻²⁰."""
    return np.array([round(math.exp(-k / _STEP) * UNIT) for k in range(_DEEPEST * _STEP + 1)], dtype=np.int64)


@lru_cache(maxsize=64)
def _entropies(whole: int) -> IntArray:
    """−p log p of p = k/whole, in units of 2⁻²⁰ nats."""
    shares = [k / whole for k in range(whole + 1)]
    return np.array([round(-p * math.log(p) * UNIT) if p > 0 else 0 for p in shares], dtype=np.int64)
