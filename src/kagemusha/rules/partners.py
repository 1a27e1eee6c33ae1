"""Partners that nobody wrote down: `city determines country` without a list.

Everybody of a city lives in one country, so the people of a country are those of its cities together. Cell by cell the
likeliest partner can be wrong where a pair is mostly noise, or was measured in groups; the columns' own counts are far
more precise. So partners are those for which the model, fitted again around them, has to give up least: cells of the
pair as `rules.with_zeros` weighs them, and counts of the determined column as it weighs those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.rules.structural_zeros import StructuralZeros
from kagemusha.rules.witness import reached, witness
from kagemusha.schema.constraints import Determines
from kagemusha.schema.domain import Clique, Domain

COLUMN = 0.2
"""A column's own counts are trusted more than its part in a pair that a rule contradicts: this share of its
deviation."""

SWEEPS = 30
"""How often every key is given its best partner, and its best exchange, before the search ends."""

LEAST = 1e-9
"""What counts as less, as a share of all people: rounding must not move anybody."""

FORBIDDEN = 1e4
"""What a partner costs that other rules forbid, in squares of all people: more than anything else can."""

STARTS, SMALL = 8, 1 << 12
"""Other places to start from, in tables of so many cells."""

MOST_KEYS = 3_000
"""With more keys than this, two of them are not tried out in each other's place."""


def partners(
    domain: Domain,
    rule: str,
    law: Determines,
    zeros: Sequence[StructuralZeros],
    project: Callable[[Clique], FloatArray],
) -> StructuralZeros:
    """The zeros of a rule that lists no partners: the likeliest ones, of those that other rules allow."""
    clique = domain.canonical((*law.given, law.column))
    order = [*(clique.index(name) for name in law.given), clique.index(law.column)]
    table = project(clique).transpose(order)
    allowed = _Allowed(domain, law, zeros, table.shape)
    flat = np.asarray(table, dtype=np.float64).reshape(-1, table.shape[-1])
    possible = np.ones(flat.shape, dtype=np.bool_)
    while True:
        chosen = likeliest(flat, possible)
        refused = [key for key, partner in enumerate(chosen.tolist()) if not allowed(key, partner)]
        # a key whose every partner is refused keeps none: no row may hold it
        if not refused or not (possible[refused, chosen[refused]]).any():
            break
        possible[refused, chosen[refused]] = False
    impossible = np.ones(flat.shape, dtype=np.bool_)
    kept = np.setdiff1d(np.arange(len(flat)), refused)
    impossible[kept, chosen[kept]] = False
    return StructuralZeros(rule, clique, impossible.reshape(table.shape).transpose(np.argsort(order)))


def likeliest(table: FloatArray, possible: NDArray[np.bool_]) -> IntArray:
    """One partner (a column) for each key (a row), for which least has to be given up.

    With everybody of key k at partner f(k), cells are off by Σ (T − n)², which is −2·Σ n_k·T[k, f(k)] and a constant,
    and the column by Σ_p (N_p − Σ n_k over f(k) = p)², in units of its smaller deviation. From the likeliest cells on,
    keys are moved one by one, and exchanged two by two, as long as that is less; in small tables also from a few other
    places, since that may end too early.
    """
    keys = table.sum(axis=1)
    gain = np.where(possible, -2.0 * keys[:, None] * table, FORBIDDEN * keys.sum() ** 2)
    best: IntArray = np.argmin(gain, axis=1)
    least = _settled(best, table, gain)
    rng = np.random.default_rng(0)
    for _ in range(STARTS if table.size <= SMALL else 0):
        start = np.where(rng.random(len(keys)) < 0.5, rng.integers(0, table.shape[1], len(keys)), best)
        start = np.where(possible[np.arange(len(keys)), start], start, best)
        cost = _settled(start, table, gain)
        if cost < least - LEAST * keys.sum() ** 2:
            best, least = start, cost
    return best


def _settled(found: IntArray, table: FloatArray, gain: FloatArray) -> float:
    """Move and exchange until nothing is less; what is then given up, but for a constant."""
    keys = table.sum(axis=1)
    trust, least = COLUMN**-2, LEAST * keys.sum()
    over = np.bincount(found, keys, minlength=table.shape[1]) - table.sum(axis=0)
    order = np.argsort(-keys, kind="stable")
    for _ in range(SWEEPS):
        moved = False
        for key in order.tolist():
            moved |= _move(key, keys[key], gain, trust, found, over, least)
            if len(keys) <= MOST_KEYS:
                moved |= _exchange(key, keys, gain, trust, found, over, least)
        if not moved:
            break
    return float(gain[np.arange(len(keys)), found].sum() + trust * (over**2).sum())


def _move(
    key: int, size: float, gain: FloatArray, trust: float, found: IntArray, over: FloatArray, least: float
) -> bool:
    """Give a key its best partner, the others as they are."""
    now = int(found[key])
    over[now] -= size
    cost = gain[key] + trust * (2 * size * over + size * size)
    best = int(np.argmin(cost))
    better = bool(cost[best] < cost[now] - least * size)
    found[key] = best if better else now
    over[found[key]] += size
    return better


def _exchange(
    key: int, keys: FloatArray, gain: FloatArray, trust: float, found: IntArray, over: FloatArray, least: float
) -> bool:
    """Exchange the partners of a key and of the other key for which that saves most, if it saves anything."""
    mine = int(found[key])
    more = keys - keys[key]  # what my partner gains and the other one loses
    delta = gain[key, found] + gain[:, mine] - gain[key, mine] - gain[np.arange(len(keys)), found]
    delta += trust * (2 * more * (over[mine] - over[found]) + 2 * more * more)
    delta[found == mine] = np.inf
    other = int(np.argmin(delta))
    if not delta[other] < -least * max(keys[key], keys[other]):
        return False
    theirs = int(found[other])
    found[key], found[other] = theirs, mine
    over[mine] += more[other]
    over[theirs] -= more[other]
    return True


class _Allowed:
    """Whether other rules leave a row to a key and its partner; asked only for those that were chosen."""

    def __init__(
        self, domain: Domain, law: Determines, zeros: Sequence[StructuralZeros], shape: tuple[int, ...]
    ) -> None:
        self._domain, self._shape, self._columns = domain, shape, (*law.given, law.column)
        self._near = reached(set(self._columns), zeros)
        self._names = sorted({*self._columns, *(name for zero in self._near for name in zero.clique)})
        self._rng = np.random.default_rng(0)
        self._known: dict[tuple[int, int], bool] = {}

    def __call__(self, key: int, partner: int) -> bool:
        if not self._near:
            return True
        if (key, partner) not in self._known:
            codes = (*np.unravel_index(key, self._shape[:-1]), partner)
            pins = [
                StructuralZeros("", (name,), np.arange(self._domain.size(name)) != code)
                for name, code in zip(self._columns, codes, strict=True)
            ]
            self._known[key, partner] = self._found([*pins, *self._near])
        return self._known[key, partner]

    def _found(self, zeros: Sequence[StructuralZeros]) -> bool:
        try:
            return witness(self._domain, self._names, zeros, {}, self._rng) is not None
        except TimeoutError:
            return True
