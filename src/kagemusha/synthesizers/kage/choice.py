"""Which pairs to measure and what each may cost, from noisy errors alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.schema.domain import Clique

TRUST = 0.5
"""Share of a dependence that a path of chosen pairs of the same strength is trusted to bring along."""

MARGIN = 0.1
"""Going beyond the model's room must take this share off the predicted error: traded rows are not as good as a
model."""

OUTSIDE = 0.8
"""Share of a pair's error that is thought to go if it is measured though the model has no room for it: rows are traded
towards it."""

PATIENCE = 40
"""The search ends after this many pairs in a row that do not fit the model."""


WORTH = 0.02
"""The model may have four times the cells if that should take this share off the error."""


@dataclass(frozen=True, eq=False)
class ChosenPairs:
    """Chosen pairs (positions), the share of what is left each gets, and the share that goes to columns again."""

    pairs: tuple[int, ...]
    shares: tuple[float, ...]
    columns: float
    predicted: float
    """Total error of all pairs, as they count, that this choice should lead to."""
    expected: FloatArray
    """The error that each pair should have then, in records."""
    cells: int = 0
    """The limit of the model it was made for."""
    inside: bool = True
    """Whether the model has room for all of them."""


def shrunk(noisy: FloatArray, sigma: float) -> FloatArray:
    """Noisy errors moved towards their mean by how much of their spread is noise, never below 0."""
    return np.maximum(shrink_to_mean(noisy, sigma), 0.0)


def shrink_to_mean(noisy: FloatArray, sigma: float) -> FloatArray:
    """The same where values may be negative."""
    if len(noisy) < 3:
        return noisy
    mean, spread = float(noisy.mean()), float(noisy.var())
    signal = max(0.0, 1 - sigma**2 / spread) if spread > 0 else 0.0
    return np.asarray(mean + signal * (noisy - mean))


@dataclass(frozen=True, eq=False)
class Pairs:
    """What is believed of every pair before any is measured, in records.

    `errors` are distances from independence, `strengths` the same on a scale from 0 to 1; `floor` is what chance adds
    to them, which no model knows. `weights` w say how noise hurts: measured at a share q of what is left a pair gets
    the error noise · w/√q, and keeps `rest`, which its question does not tell. `columns` is the squared error that its
    two columns bring if they get all that is left; what they had before is `before` times that. `alone` is the error of
    all columns themselves, likewise, as it counts beside that of all pairs. `importance` is how much a pair counts.
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
    floor: FloatArray
    rest: FloatArray
    unknown: FloatArray | None = None
    """What of the errors a model does not know yet; all of it unless given."""

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

    def expected(self, taken: Sequence[int], left_out: FloatArray, share: float) -> FloatArray:
        """Each pair's error if so large a share goes to columns.

        Theirs and the pair's own add up like independent errors.
        """
        own = left_out.copy()
        if taken:
            chosen = np.array(taken)
            price = self.price[chosen]
            noise = self.noise * self.weights[chosen] * np.sqrt(price.sum() / ((1 - share) * price))
            own[chosen] = np.hypot(np.maximum(noise, left_out[chosen]), self.rest[chosen])
        return np.sqrt(own**2 + self.columns / (self.before + share))

    def predicted(self, taken: Sequence[int], left_out: FloatArray, share: float) -> float:
        """The total of these errors as they count, that of columns beside them."""
        total = float((self.importance * self.expected(taken, left_out, share)).sum())
        return total + self.alone / math.sqrt(self.before + share)


ORDERS: Sequence[tuple[float, float | None]] = ((1.0, None), (0.5, None), (1.0, 0.5), (1.0, 0.0))
"""Greedy orders: pairs by error over price to this power; the second, if any, for a spanning tree that comes first."""

MANY = 2000
"""With more pairs only every other order is tried: it takes seconds."""

SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.6, 0.8)
"""Tried for columns."""


def choose(
    pairs: Pairs,
    tree: Callable[[int], Callable[[Clique], bool]],
    limits: Sequence[int],
    *,
    beyond: bool = False,
    trust: float = TRUST,
    start: Sequence[int] = (),
) -> ChosenPairs:
    """The least predicted total error over orders, how many pairs to take, the share of columns and the model's limit.

    With the split q ∝ w^(2/3) the noise of a set of pairs is noise · (Σ w^(2/3))^(3/2). A pair left out keeps the part
    of its error that the chosen ones do not imply. `tree` makes a function for a limit that takes a pair into a model
    so large, or says False if it does not fit beside those taken so far; with `beyond` such a pair may be measured all
    the same: rows can be traded towards it. A model of four times the cells must
    take `WORTH` off the error. `start` names pairs that are taken already, whatever they are worth; what is unknown of
    the others is then what they leave unknown. `trust` is the share of a path's strength that counts as known.
    """
    within = _best_order(pairs, tree, limits, 0.0, trust, start)
    if not beyond:
        return within
    further = _best_order(pairs, tree, limits, OUTSIDE, trust, start)
    return replace(further, inside=False) if further.predicted < (1 - MARGIN) * within.predicted else within


def _best_order(
    pairs: Pairs,
    tree: Callable[[int], Callable[[Clique], bool]],
    limits: Sequence[int],
    outside: float,
    trust: float,
    start: Sequence[int],
) -> ChosenPairs:
    best, scaled = ChosenPairs((), (), 1.0, math.inf, pairs.errors), math.inf
    for order in ORDERS if len(pairs.cliques) <= MANY else ORDERS[:: len(ORDERS) // 2]:
        for step, limit in enumerate(limits):
            found, complete = _best_prefix(pairs, _greedy(pairs, tree(limit), *order, outside, trust, start), limit)
            if found.predicted * (1 + WORTH) ** step < scaled:
                best, scaled = found, found.predicted * (1 + WORTH) ** step
            if complete:
                break  # a larger model would hold the same pairs
    return best


def _best_prefix(
    pairs: Pairs, steps: Iterator[tuple[list[int], FloatArray, bool]], limit: int
) -> tuple[ChosenPairs, bool]:
    """The best number of pairs of one greedy order, and whether all that are worth it fit."""
    best, count, columns, expected = math.inf, 0, 1.0, pairs.errors
    taken: list[int] = []
    complete = True
    for taken, left_out, fits in steps:
        complete &= fits
        predictions = [pairs.predicted(taken, left_out, share) for share in (SHARES if taken else (1.0,))]
        k = int(np.argmin(predictions))
        if predictions[k] < best:
            best, count, columns = predictions[k], len(taken), SHARES[k] if taken else 1.0
            expected = pairs.expected(taken, left_out, columns)
    chosen = taken[:count]
    price = pairs.price[chosen] if chosen else np.zeros(0)
    shares = tuple(float(x) for x in (1 - columns) * price / price.sum()) if chosen else ()
    return ChosenPairs(tuple(chosen), shares, columns, best, expected, limit), complete


def _greedy(
    pairs: Pairs,
    add: Callable[[Clique], bool],
    power: float,
    first_power: float | None,
    outside: float,
    trust: float,
    start: Sequence[int],
) -> Iterator[tuple[list[int], FloatArray, bool]]:
    """Pairs in the order they pay off.

    Now and then those taken so far, what is left of each pair's error, and whether all fit.
    """
    first, second, columns = pairs.ends
    implied = np.eye(columns)
    open_ = np.ones(len(pairs.cliques), dtype=bool)
    inside = np.ones(len(pairs.cliques))
    part = np.arange(columns)
    taken: list[int] = []
    spent, refused, shown, fits = 0.0, 0, 0, True
    price, importance = pairs.price, pairs.importance

    def joined(i: int) -> None:
        nonlocal implied
        a, b = first[i], second[i]
        inside[i] = 0.0
        for x, y in ((a, b), (b, a)):
            # a path's strength is the product of its edges; keep the strongest one
            implied = np.maximum(implied, pairs.strengths[i] * np.outer(implied[:, x], implied[y]))
        part[part == part[b]] = part[a]

    for i in start:
        fits &= add(pairs.cliques[i])
        open_[i] = False
        joined(i)
        taken.append(i)
        spent += float(price[i])
    before = implied[first, second] if start else np.zeros(len(inside))
    everything = pairs.errors if pairs.unknown is None else pairs.unknown

    def not_implied() -> FloatArray:
        new = implied[first, second] - before
        known = np.divide(new, pairs.strengths, out=np.zeros(len(inside)), where=pairs.strengths > 0)
        signal = everything * (1 - trust * np.minimum(1.0, known))
        return np.asarray(np.hypot(signal, pairs.floor) * inside, dtype=np.float64)

    unknown = not_implied()
    yield taken, unknown, fits
    while refused < PATIENCE:
        # with the best split, a pair is worth its error if that exceeds the growth of everyone's noise
        growth = pairs.noise * ((spent + price) ** 1.5 - spent**1.5)
        eligible = open_ & (importance * (unknown - pairs.rest) > growth)
        spanning = eligible & (part[first] != part[second]) if first_power is not None else eligible
        if not eligible.any():
            break
        growing = first_power is not None and bool(spanning.any())
        divisor = price ** (first_power if growing and first_power is not None else power)
        worth = importance * (unknown - pairs.rest) / divisor
        i = int(np.argmax(np.where(spanning if growing else eligible, worth, -1.0)))
        open_[i] = False
        if add(pairs.cliques[i]):
            refused = 0
            joined(i)
        else:
            fits = False
            # rows that the model hardly makes cannot be traded in: what is left of a strong dependence stays
            mended = outside * (1 - pairs.strengths[i] * unknown[i] / max(pairs.errors[i], unknown[i])) ** 2
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
