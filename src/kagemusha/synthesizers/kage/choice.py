"""Which candidates to measure and what each may cost, from released numbers alone: the least predicted total error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.constants import MARGIN, WORTH


@dataclass(frozen=True, eq=False)
class Candidates:
    """What is believed of every pair and triple that could be measured, in records.

    `signal` is a pair's distance from independence, `strength` the same from 0 to 1 (0 for triples), and `unknown` how
    far a candidate is from the model; `floor` is what chance adds, which no model knows. Measured at a share q of what
    is left, a candidate keeps the error noise · weight/√q, and `rest`, which its groups hide. `columns` is the squared
    error that its columns bring if they get all that is left; what they had before is `before` times that. `alone` is
    the error of all columns themselves, likewise, as it counts beside that of all pairs. `importance` is how much a
    candidate counts.
    """

    cliques: Sequence[Clique]
    signal: FloatArray
    unknown: FloatArray
    strength: FloatArray
    weights: FloatArray
    columns: FloatArray
    importance: FloatArray
    floor: FloatArray
    rest: FloatArray
    noise: float
    before: float
    alone: float

    @cached_property
    def price(self) -> FloatArray:
        """The best split gives a candidate a share in proportion to this."""
        return np.asarray(np.maximum(self.weights * self.importance, 1e-9) ** (2 / 3))

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray, int]:
        """Numbers of both columns of each pair (twice the first one for a triple), and how many columns there are."""
        names = {name: i for i, name in enumerate(dict.fromkeys(name for clique in self.cliques for name in clique))}
        pairs = [clique if len(clique) == 2 else (clique[0], clique[0]) for clique in self.cliques]
        first, second = (np.array([names[pair[side]] for pair in pairs], dtype=np.int64) for side in (0, 1))
        return first, second, len(names)

    def expected(self, taken: Sequence[int], left_out: FloatArray, share: float) -> FloatArray:
        """Each one's error if so large a share goes to columns.

        Theirs and its own add up like independent errors.
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


@dataclass(frozen=True, eq=False)
class Choice:
    """Chosen candidates (positions), the share of what is left each gets, and the share that goes to columns again."""

    taken: tuple[int, ...]
    shares: tuple[float, ...]
    columns: float
    predicted: float
    """Total error of all candidates, as they count, that this choice should lead to."""
    expected: FloatArray
    """The error that each should have then, in records."""
    cells: int = 0
    """The limit of the model it was made for."""
    inside: bool = True
    """Whether the model has room for all of them."""


def choose(
    candidates: Candidates,
    tree: Callable[[int], Callable[[Clique], bool]],
    limits: Sequence[int],
    *,
    paths: bool = False,
    outside: bool = True,
    start: Sequence[int] = (),
) -> Choice:
    """The least predicted total error over orders, how many to take, the share of columns and the model's limit.

    With the split q ∝ w^(2/3) the noise of a set is noise · (Σ w^(2/3))^(3/2). A pair left out keeps the part of its
    error that the chosen ones do not imply. `tree` makes a function for a limit that takes a clique into a model so
    large, or says False if it does not fit beside those taken so far; with `outside` such a pair may be measured all
    the same: rows can be traded towards it. `start` names what is measured already and
    stays; with `paths` a pair counts as known as far as paths of chosen ones are strong: a model will say more.
    """
    best, scaled = Choice((), (), 1.0, math.inf, candidates.unknown), math.inf
    for beyond, cost in ((False, 1.0), (True, 1 + MARGIN)) if outside else ((False, 1.0),):
        for forest in (False, True):
            for step, limit in enumerate(limits):
                steps = _greedy(candidates, tree(limit), forest, beyond, paths, start)
                found, complete = _best_prefix(candidates, steps, limit)
                if found.predicted * cost * (1 + WORTH) ** step < scaled:
                    best = replace(found, inside=complete or not beyond)
                    scaled = found.predicted * cost * (1 + WORTH) ** step
                if complete:
                    break  # a larger model would hold the same
    return best


def _best_prefix(
    candidates: Candidates, steps: Iterator[tuple[list[int], FloatArray, bool]], limit: int
) -> tuple[Choice, bool]:
    """The best number of candidates of one greedy order, and whether all that are worth it fit."""
    best = Choice((), (), 1.0, math.inf, candidates.unknown, limit)
    complete = True
    for taken, left_out, fits in steps:
        complete &= fits
        tried = [tenths / 10 for tenths in range(10)] if taken else [1.0]
        predictions = [candidates.predicted(taken, left_out, share) for share in tried]
        k = int(np.argmin(predictions))
        if predictions[k] < best.predicted:
            price = candidates.price[taken]
            shares = tuple(((1 - tried[k]) * price / price.sum()).tolist()) if taken else ()
            expected = candidates.expected(taken, left_out, tried[k])
            best = Choice(tuple(taken), shares, tried[k], predictions[k], expected, limit)
    return best, complete


def _greedy(
    candidates: Candidates,
    add: Callable[[Clique], bool],
    forest: bool,
    outside: bool,
    paths: bool,
    start: Sequence[int],
) -> Iterator[tuple[list[int], FloatArray, bool]]:
    """Candidates in the order they pay off: by error over √price, or a `forest` of the strongest, then by error/price.

    So strong pairs of wide columns are not starved by many narrow ones. Now and then those taken so far, what is left
    of each one's error, and whether all fit.
    """
    first, second, columns = candidates.ends
    price, importance, rest = candidates.price, candidates.importance, candidates.rest
    implied = np.eye(columns)
    waiting = np.ones(len(price), dtype=bool)
    left = np.ones(len(price))
    part = np.arange(columns)
    taken: list[int] = []
    spent, refused, shown, fits = 0.0, 0, 0, True

    def take(i: int) -> None:
        nonlocal implied, spent
        taken.append(i)
        spent += float(price[i])
        waiting[i] = False
        if left[i] == 1.0:
            left[i] = 0.0
            a, b = first[i], second[i]
            part[part == part[b]] = part[a]
            for x, y in ((a, b), (b, a)) if paths else ():
                # a path's strength is the product of its edges; keep the strongest one
                implied = np.maximum(implied, candidates.strength[i] * np.outer(implied[:, x], implied[y]))

    for i in start:
        fits &= add(candidates.cliques[i])
        take(i)

    def not_implied() -> FloatArray:
        known = np.divide(
            implied[first, second], candidates.strength, out=np.zeros(len(price)), where=candidates.strength > 0
        )
        signal = candidates.unknown * (1 - np.minimum(1.0, known))
        return np.asarray(np.hypot(signal, candidates.floor) * left, dtype=np.float64)

    unknown = not_implied()
    yield taken, unknown, fits
    while refused <= columns:
        # with the best split, one is worth its error if that exceeds the growth of everyone's noise
        growth = candidates.noise * ((spent + price) * np.sqrt(spent + price) - spent * math.sqrt(spent))
        gain = importance * (unknown - rest)
        eligible = waiting & (gain > growth)
        if not eligible.any():
            break
        spanning = eligible & (part[first] != part[second]) & forest
        growing = bool(spanning.any())
        worth = np.where(spanning if growing else eligible, gain, -1.0)
        if not growing:
            worth /= price if forest else np.sqrt(price)
        while refused <= columns and worth[i := int(np.argmax(worth))] > 0:
            if not (fitting := add(candidates.cliques[i])):
                fits = False
                # rows that the model hardly makes cannot be traded in: what is left of a strong dependence stays
                mended = (1 - candidates.strength[i] * unknown[i] / max(candidates.signal[i], unknown[i])) ** 2
                pair = outside and len(candidates.cliques[i]) == 2
                if not pair or importance[i] * mended * unknown[i] <= growth[i]:
                    refused += 1
                    waiting[i], worth[i] = False, -1.0
                    continue
                left[i] = 1 - mended
            refused = 0 if fitting else refused
            take(i)
            unknown = not_implied()
            if len(taken) > 1.15 * shown:
                shown = len(taken)
                yield taken, unknown, fits
            break
    yield taken, unknown, fits


def topped_up(had: Mapping[int, float], wanted: Mapping[int, float], cost: float) -> dict[int, float]:
    """How to split `cost` so that all that was spent comes nearest to the shares `wanted`: nobody gives anything back.

    The lowest level L with Σ max(0, L·wanted − had) = cost, found by leaving out those that have had more than their
    share. Parts below a millionth are not worth a question.
    """
    places = sorted(wanted, key=lambda i: had.get(i, 0.0) / wanted[i])
    shares: FloatArray = np.cumsum([wanted[i] for i in places])
    before: FloatArray = np.cumsum([had.get(i, 0.0) for i in places])
    levels = (cost + before) / shares
    reached = np.array([had.get(i, 0.0) / wanted[i] for i in places])
    # the first so many are below the level that they would share, the next one is not
    count = int(np.flatnonzero(levels > reached)[-1]) + 1
    level = float(levels[count - 1])
    raw = {i: level * wanted[i] - had.get(i, 0.0) for i in places[:count]}
    worth = {i: x for i, x in raw.items() if x > 1e-6 * cost}
    scale = cost / sum(worth.values())
    return {i: x * scale for i, x in worth.items()}
