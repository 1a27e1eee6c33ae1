"""Which triples to look at, which of them to measure, and what each may cost, from noisy errors alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.schema.domain import Clique, Domain

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
