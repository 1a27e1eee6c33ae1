"""Which pairs to measure and what each may cost, from noisy errors alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.schema.domain import Clique, Domain

TRUST = 0.5
"""Share of a dependence that a path of chosen pairs of the same strength is trusted to bring along."""

MARGIN = 0.1
"""Going beyond the model's room must take this share off the predicted error: traded rows are not as good as a model."""

OUTSIDE = 0.5
"""Share of a pair's error that is thought to go if it is measured though the model has no room for it: rows are traded
towards it."""

PATIENCE = 40
"""The search ends after this many pairs in a row that do not fit the model."""


WORTH = 0.02
"""The model may have four times the cells if that should take this share off the error."""


@dataclass(frozen=True)
class Choice:
    """Chosen pairs (positions), the share of what is left each gets, and the share that goes to columns again."""

    pairs: tuple[int, ...]
    shares: tuple[float, ...]
    columns: float
    predicted: float
    """Total error of all pairs that this choice should lead to."""
    cells: int = 0
    """The limit of the model it was made for."""


def shrunk(noisy: FloatArray, sigma: float) -> FloatArray:
    """Noisy errors moved towards their mean by how much of their spread is noise, never below 0."""
    if len(noisy) < 3:
        return np.maximum(noisy, 0.0)
    mean, spread = float(noisy.mean()), float(noisy.var())
    signal = max(0.0, 1 - sigma**2 / spread) if spread > 0 else 0.0
    return np.maximum(mean + signal * (noisy - mean), 0.0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """What is believed of every pair before any is measured, in records.

    `errors` are distances from independence, `strengths` the same on a scale from 0 to 1. `weights` w say how noise
    hurts: measured at a share q of what is left a pair gets the error noise · w/√q. `columns` is the squared error
    that its two columns bring if they get all that is left; what they had before is `before` times that.
    `alone` is the error of all columns themselves, likewise, as it counts beside that of all pairs. `importance` is how
    much a pair counts.
    """

    cliques: Sequence[Clique]
    errors: FloatArray
    strengths: FloatArray
    weights: FloatArray
    columns: FloatArray
    alone: float
    importance: FloatArray
    noise: float
    before: float

    @cached_property
    def price(self) -> FloatArray:
        """The best split gives a pair a share in proportion to this."""
        return np.asarray(np.maximum(self.weights * self.importance, 1e-9) ** (2 / 3))

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray, int]:
        """Numbers of both columns of each pair, and how many columns there are."""
        names = {name: i for i, name in enumerate(dict.fromkeys(name for pair in self.cliques for name in pair))}
        first, second = (np.array([names[pair[side]] for pair in self.cliques], dtype=np.int64) for side in (0, 1))
        return first, second, len(names)

    def predicted(self, taken: Sequence[int], left_out: FloatArray, share: float) -> float:
        """Total error if so large a share goes to columns: theirs and the pair's own add up like independent errors."""
        own = left_out.copy()
        if taken:
            chosen = np.array(taken)
            price = self.price[chosen]
            noise = self.noise * self.weights[chosen] * np.sqrt(price.sum() / ((1 - share) * price))
            own[chosen] = np.maximum(noise, left_out[chosen])
        total = np.sqrt(own**2 + self.columns / (self.before + share))
        return float((self.importance * total).sum()) + self.alone / math.sqrt(self.before + share)


ORDERS = ((1.0, None), (0.5, None), (1.0, 0.5), (1.0, 0.0))
"""Greedy orders: pairs by error over price to this power; the second, if any, for a spanning tree that comes first."""

MANY = 2000
"""With more pairs only every other order is tried: it takes seconds."""

SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8)
"""Tried for columns."""


def choose(
    pairs: Pairs, tree: Callable[[int], Callable[[Clique], bool]], limits: Sequence[int], *, beyond: bool = False
) -> Choice:
    """The least predicted total error over orders, how many pairs to take, the share of columns and the model's limit.

    With the split q ∝ w^(2/3) the noise of a set of pairs is noise · (Σ w^(2/3))^(3/2). A pair left out keeps the part
    of its error that the chosen ones do not imply. `tree` makes a function for a limit that takes a pair into a model
    so large, or says False if it does not fit beside those taken so far; with `beyond` such a pair may be measured all
    the same: rows can be traded towards it. A model of four times the cells must
    take `WORTH` off the error.
    """
    within = _best_order(pairs, tree, limits, 0.0)
    if not beyond:
        return within
    further = _best_order(pairs, tree, limits, OUTSIDE)
    return further if further.predicted < (1 - MARGIN) * within.predicted else within


def _best_order(
    pairs: Pairs, tree: Callable[[int], Callable[[Clique], bool]], limits: Sequence[int], outside: float
) -> Choice:
    best, scaled = Choice((), (), 1.0, math.inf), math.inf
    for order in ORDERS if len(pairs.cliques) <= MANY else ORDERS[:: len(ORDERS) // 2]:
        for step, limit in enumerate(limits):
            found, complete = _best_prefix(pairs, tree(limit), order, limit, outside)
            if found.predicted * (1 + WORTH) ** step < scaled:
                best, scaled = found, found.predicted * (1 + WORTH) ** step
            if complete:
                break  # a larger model would hold the same pairs
    return best


def _best_prefix(
    pairs: Pairs, add: Callable[[Clique], bool], order: tuple[float, float | None], limit: int, outside: float
) -> tuple[Choice, bool]:
    """The best number of pairs of one greedy order, and whether all that are worth it fit."""
    best, count, columns = math.inf, 0, 1.0
    taken: list[int] = []
    complete = True
    for taken, left_out, fits in _greedy(pairs, add, *order, outside):
        complete &= fits
        predictions = [pairs.predicted(taken, left_out, share) for share in (SHARES if taken else (1.0,))]
        k = int(np.argmin(predictions))
        if predictions[k] < best:
            best, count, columns = predictions[k], len(taken), SHARES[k] if taken else 1.0
    chosen = taken[:count]
    price = pairs.price[chosen] if chosen else np.zeros(0)
    shares = tuple(float(x) for x in (1 - columns) * price / price.sum()) if chosen else ()
    return Choice(tuple(chosen), shares, columns, best, limit), complete


def _greedy(
    pairs: Pairs, add: Callable[[Clique], bool], power: float, first_power: float | None, outside: float
) -> Iterator[tuple[list[int], FloatArray, bool]]:
    """Pairs in the order they pay off: now and then those taken so far, what is left of each pair's error, and whether all fit."""
    first, second, columns = pairs.ends
    implied = np.eye(columns)
    open_ = np.ones(len(pairs.cliques), dtype=bool)
    inside = np.ones(len(pairs.cliques))
    part = np.arange(columns)
    taken: list[int] = []
    spent, refused, shown, fits = 0.0, 0, 0, True
    counted = pairs.price, pairs.importance

    def not_implied() -> FloatArray:
        known = np.divide(implied[first, second], pairs.strengths, out=np.zeros(len(inside)), where=pairs.strengths > 0)
        return np.asarray(pairs.errors * (1 - TRUST * np.minimum(1.0, known)) * inside, dtype=np.float64)

    price, importance = counted
    unknown = not_implied()
    yield taken, unknown, fits
    while refused < PATIENCE:
        # with the best split, a pair is worth its error if that exceeds the growth of everyone's noise
        growth = pairs.noise * ((spent + price) ** 1.5 - spent**1.5)
        eligible = open_ & (importance * unknown > growth)
        spanning = eligible & (part[first] != part[second]) if first_power is not None else eligible
        if not eligible.any():
            break
        growing = first_power is not None and bool(spanning.any())
        worth = importance * unknown / price ** (first_power if growing and first_power is not None else power)
        i = int(np.argmax(np.where(spanning if growing else eligible, worth, -1.0)))
        open_[i] = False
        a, b = first[i], second[i]
        if add(pairs.cliques[i]):
            refused = 0
            inside[i] = 0.0
            for x, y in ((a, b), (b, a)):
                # a path's strength is the product of its edges; keep the strongest one
                implied = np.maximum(implied, pairs.strengths[i] * np.outer(implied[:, x], implied[y]))
            part[part == part[b]] = part[a]
        else:
            fits = False
            # rows that the model hardly makes cannot be traded in: what is left of a strong dependence stays
            mended = outside * (1 - pairs.strengths[i] * unknown[i] / pairs.errors[i]) ** 2
            if importance[i] * mended * unknown[i] <= growth[i]:
                refused += 1
                continue
            inside[i] = 1 - mended
        taken.append(i)
        spent += float(price[i])
        unknown = not_implied()
        if len(taken) > 1.15 * shown:
            shown = len(taken)
            yield taken, unknown, fits
    yield taken, unknown, fits


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
