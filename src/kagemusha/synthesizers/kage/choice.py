"""Which pairs to measure and what each may cost, from noisy errors alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.schema.domain import Clique, Domain

TRUST = 0.5
"""Share of a dependence that a path of chosen pairs of the same strength is trusted to bring along."""

PATIENCE = 40
"""The search ends after this many pairs in a row that do not fit the model."""


@dataclass(frozen=True)
class Choice:
    """Chosen pairs (positions), the share of what is left each gets, and the share that goes to columns again."""

    pairs: tuple[int, ...]
    shares: tuple[float, ...]
    columns: float
    predicted: float
    """Total error of all pairs that this choice should lead to."""


def shrunk(noisy: FloatArray, sigma: float) -> FloatArray:
    """Noisy errors moved towards their mean by how much of their spread is noise, never below 0."""
    if len(noisy) < 3:
        return np.maximum(noisy, 0.0)
    mean, spread = float(noisy.mean()), float(noisy.var())
    signal = max(0.0, 1 - sigma**2 / spread) if spread > 0 else 0.0
    return np.maximum(mean + signal * (noisy - mean), 0.0)


def choose(
    pairs: Sequence[Clique],
    errors: FloatArray,
    strengths: FloatArray,
    weights: FloatArray,
    add: Callable[[Clique], bool],
    *,
    noise: float,
    column_noise: float,
    before: float,
) -> Choice:
    """Least predicted total error over which pairs to take and how much to give the columns again.

    `weights` w say how noise hurts a pair: measured at a share q of what is left it gets the error noise·w/√q. The
    best split is q ∝ w^(2/3), with the error noise·(Σ w^(2/3))^(3/2). A pair left out keeps the part of its error
    that the chosen ones do not imply; `strengths` are the errors on a scale from 0 to 1. Columns now have the error
    column_noise/√before in all pairs together, before = what they were given over what is left. `add` takes a pair
    into the model, or says False if it does not fit beside those taken so far.
    """
    price = weights ** (2 / 3)
    taken, left_out = _greedy(pairs, errors, strengths, price, add, noise)
    grown = np.concatenate([[0.0], np.cumsum(price[taken])]) ** 1.5 * noise
    best, count, columns = math.inf, 0, 1.0
    for share in np.linspace(0.0, 0.95, 20):
        predicted = grown / math.sqrt(1 - share) + left_out + column_noise / math.sqrt(before + share)
        k = int(np.argmin(predicted))
        if predicted[k] < best:
            best, count, columns = float(predicted[k]), k, float(share)
    taken = taken[:count]
    if not taken:
        return Choice((), (), 1.0, best)
    total = float(price[taken].sum())
    return Choice(tuple(taken), tuple((1 - columns) * float(price[i]) / total for i in taken), columns, best)


def _greedy(
    pairs: Sequence[Clique],
    errors: FloatArray,
    strengths: FloatArray,
    price: FloatArray,
    add: Callable[[Clique], bool],
    noise: float,
) -> tuple[list[int], FloatArray]:
    """Pairs in the order they pay off, and the error of what is left out after each."""
    names = {name: i for i, name in enumerate(dict.fromkeys(name for pair in pairs for name in pair))}
    first, second = (np.array([names[pair[side]] for pair in pairs], dtype=np.int64) for side in (0, 1))
    implied = np.eye(len(names))
    open_ = np.ones(len(pairs), dtype=bool)
    out = np.ones(len(pairs), dtype=bool)
    taken: list[int] = []
    spent, refused = 0.0, 0
    left_out = [float(errors.sum())]

    def not_implied() -> FloatArray:
        known = np.divide(implied[first, second], strengths, out=np.zeros(len(pairs)), where=strengths > 0)
        return np.asarray(errors * (1 - TRUST * np.minimum(1.0, known)), dtype=np.float64)

    while refused < PATIENCE:
        unknown = not_implied()
        worth = np.where(open_, unknown / price, 0.0)
        i = int(np.argmax(worth))
        # with the best split, a pair is worth its error if that exceeds the growth of everyone's noise
        if unknown[i] * open_[i] <= noise * ((spent + price[i]) ** 1.5 - spent**1.5):
            break
        open_[i] = False
        if not add(pairs[i]):
            refused += 1
            continue
        refused = 0
        taken.append(i)
        spent += float(price[i])
        out[i] = False
        a, b = first[i], second[i]
        for x, y in ((a, b), (b, a)):
            # a path's strength is the product of its edges; keep the strongest one
            implied = np.maximum(implied, strengths[i] * np.outer(implied[:, x], implied[y]))
        left_out.append(float(not_implied()[out].sum()))
    return taken, np.array(left_out)


MOST = 500
"""Triples looked at; all of them in tables of up to 15 columns."""

LOOKED_OVER = 200_000
"""Triples among which those are picked."""


@dataclass(frozen=True)
class TripleChoice:
    """Chosen triples (positions) and the share of what is left each gets; pairs get the rest again."""

    triples: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def pairs(self) -> float:
        """The share that goes to pairs."""
        rest = 1 - math.fsum(self.shares)
        return rest if rest > 1e-6 else 0.0


def candidate_triples(domain: Domain, strengths: Mapping[Clique, float], most_cells: int) -> list[Clique]:
    """Triples worth a look: those with the strongest pairs if there are too many, none too large to count."""
    triples: list[Clique] = [
        t
        for t in islice(combinations(domain.names, 3), LOOKED_OVER)
        if min(domain.shape(t)) > 1 and domain.cells(t) <= most_cells // MOST
    ]
    if len(triples) > MOST:
        triples.sort(key=lambda t: -sum(strengths.get(pair, 0.0) for pair in combinations(t, 2)))
    return triples[:MOST]


def choose_triples(
    triples: Sequence[Clique],
    errors: FloatArray,
    weights: FloatArray,
    importance: FloatArray,
    add: Callable[[Clique], bool],
    *,
    columns: int,
    noise: float,
    pair_noise: Mapping[Clique, float],
    before: float,
) -> TripleChoice:
    """The split of what is left that lowers the mean error of pairs plus that of triples most.

    `errors` are distances of triples from the model fitted to pairs, in records. `weights` w say how noise hurts: at a
    share q of what is left a triple keeps the error noise·w/√q; `importance` is how much a triple counts. `pair_noise`
    is the error that noise left in measured pairs, which shrinks if they get more: `before` is what they had over what
    is left. `add` takes a triple into the model, or says False.
    """
    count = math.comb(columns, 3)
    squared = np.array([sum(pair_noise.get(p, 0.0) ** 2 for p in combinations(t, 2)) for t in triples])
    # noise in a triple's pairs is error that measuring its interaction does not mend
    own = np.sqrt(np.maximum(errors**2 - squared, 0.0)) * (errors > 0)
    in_pairs = sum(pair_noise.values()) / math.comb(columns, 2) + float(np.sqrt(squared).mean())
    own, weights = own * importance, weights * importance
    price = weights ** (2 / 3)
    taken: list[int] = []
    for i in np.argsort(-own / price, kind="stable"):
        # alone and with everything, it would still not be worth its noise
        if own[i] <= noise * weights[i]:
            continue
        if add(triples[i]):
            taken.append(int(i))
    gained = np.concatenate([[0.0], np.cumsum(own[taken])])
    spread = np.concatenate([[0.0], np.cumsum(price[taken])]) ** 1.5 * noise
    best, choice, part = 0.0, 0, 0.0
    for share in np.linspace(0.0, 1.0, 21):
        again = in_pairs * (1 - math.sqrt(before / (before + 1 - share))) if before else 0.0
        value = (gained - spread / math.sqrt(share)) / count + again if share else np.array([again])
        k = int(np.argmax(value))
        if value[k] > best:
            best, choice, part = float(value[k]), k, float(share)
    taken = taken[:choice]
    total = float(price[taken].sum())
    return TripleChoice(tuple(taken), tuple(part * float(price[i]) / total for i in taken))
