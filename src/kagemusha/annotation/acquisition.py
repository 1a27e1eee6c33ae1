"""Which records to ask people about: BALD, several at once (BatchBALD), entropy, or chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kagemusha.annotation.votes import ONE, bald, entropy
from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError

JOINT_STATES = 4096
"""Combinations of labels of a batch that are looked at; for larger batches some are drawn."""

CANDIDATES = 200
"""BatchBALD looks at this many of the records with the highest BALD: those below add next to nothing."""

Acquisition = Callable[[IntArray, int, np.random.Generator], IntArray]
"""Votes (versions, records, classes), how many records, chance → positions of records, the first to be asked first."""


def by_bald(votes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """The records that versions disagree about most; ties by chance."""
    return _largest(bald(votes), count, rng)


def by_entropy(votes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """The records all versions together are most unsure about."""
    return _largest(entropy(votes), count, rng)


def by_chance(votes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Any records."""
    return rng.permutation(votes.shape[1])[:count]


def by_batch_bald(votes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Records that tell most *together* (Kirsch et al. 2019): two alike are not asked for twice.

    Greedy: the next record is the one that adds most to the mutual information between the batch's labels and the
    versions. Joint label probabilities are exact up to JOINT_STATES combinations, then estimated from that many drawn
    ones.
    """
    count = min(count, votes.shape[1])
    pool = _largest(bald(votes), max(CANDIDATES, count), rng)
    shares = votes[:, pool].astype(np.float64) / ONE
    own = _conditional(shares)
    chosen: list[int] = []
    joint = np.ones((1, len(shares)))  # probability of each combination of labels so far, in every version
    weights = np.ones(1)
    while len(chosen) < count:
        both = np.einsum("sv,vnc->nsc", joint, shares) / len(shares)
        # what earlier records are unsure about by themselves is the same for every candidate, so it is left out
        gain = _entropy_of(both, weights) - own
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        joint, weights = _extended(joint, weights, shares[:, best], rng)
    return pool[chosen]


ACQUISITIONS: Mapping[str, Acquisition] = {
    "bald": by_bald,
    "batch-bald": by_batch_bald,
    "entropy": by_entropy,
    "random": by_chance,
}


def acquisition(name: str) -> Acquisition:
    """The one of that name; any other name is a UsageError."""
    if name not in ACQUISITIONS:
        raise UsageError(f"acquisition must be one of {', '.join(ACQUISITIONS)}, got {name!r}")
    return ACQUISITIONS[name]


def _largest(scores: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    order = np.lexsort((rng.random(len(scores)), -scores))
    return np.asarray(order[:count])


def _conditional(shares: FloatArray) -> FloatArray:
    """E H[p] of each record."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(shares > 0, -shares * np.log(shares), 0.0)
    return np.asarray(parts.sum(axis=2).mean(axis=0))


def _entropy_of(both: FloatArray, weights: FloatArray) -> FloatArray:
    """Entropy of (combination so far, next label) for each record; drawn combinations stand for 1/p of themselves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(both > 0, -both * np.log(both), 0.0)
    return np.asarray((parts.sum(axis=2) * weights).sum(axis=1))


def _extended(
    joint: FloatArray, weights: FloatArray, shares: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """All combinations with one more label, or as many as may be kept, drawn by their probability."""
    longer = (joint[:, None, :] * shares.T[None, :, :]).reshape(-1, joint.shape[1])
    weights = np.repeat(weights, shares.shape[1])
    if len(longer) <= JOINT_STATES:
        return longer, weights
    chance = weights * longer.mean(axis=1)
    chance /= chance.sum()
    kept = rng.choice(len(longer), JOINT_STATES, p=chance)
    return longer[kept], weights[kept] / (chance[kept] * JOINT_STATES)
