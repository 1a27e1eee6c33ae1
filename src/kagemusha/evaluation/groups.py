"""Small groups: people who share two values.

Which of them the doubles miss, invent or miscount, and from which size on counts hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.quality.projectable import CodedTable, in_batches
from kagemusha.quality.released import right_from
from kagemusha.schema import Clique

COMPARED_CELLS = 2**18
"""Pairs with more cells are not looked at group by group."""

WORST = 12
OF_ONE_PAIR = 2
WITHIN = 0.1


@dataclass(frozen=True)
class SmallGroup:
    """People with two values in common, and the doubles that have them; doubles as if there were as many as people."""

    columns: Clique
    values: tuple[str, str]
    people: float
    doubles: float

    @property
    def words(self) -> str:
        """The group as a condition."""
        return " and ".join(f"{c} = {v}" for c, v in zip(self.columns, self.values, strict=True))


@dataclass(frozen=True)
class Groups:
    """Groups by two columns, over all pairs that were looked at."""

    worst: Sequence[SmallGroup]
    """Those that stand out most from chance, at most two of a pair."""
    right_from: float | None
    """From this many people on, nine of ten groups have the right number of doubles to within 10 %; None if no size
    does."""
    empty: tuple[Clique, float] | None
    """The pair with the largest share of doubles in combinations that nobody has, and that share."""
    pairs: int


def compare_groups(real: CodedTable, synthetic: CodedTable, cliques: Sequence[Clique]) -> Groups:
    """Every combination of two codes, counted on both sides."""
    scale = real.rows / synthetic.rows
    looked_at = [clique for clique in cliques if real.domain.cells(clique) <= COMPARED_CELLS]
    worst: list[tuple[float, SmallGroup]] = []
    sizes, held = [], []
    empty: tuple[Clique, float] | None = None
    for batch in in_batches(real.domain, looked_at):
        for clique, p, q in zip(batch, real.project_many(batch), synthetic.project_many(batch), strict=True):
            q = q * scale
            worst += _worst(real, clique, p, q, scale)
            there = p > 0
            sizes.append(p[there])
            held.append(np.abs(q - p)[there] <= WITHIN * p[there])
            share = float(q[~there].sum()) / real.rows
            if share > 0 and (empty is None or share > empty[1]):
                empty = (clique, share)
    worst.sort(key=lambda item: -item[0])
    found = right_from(np.concatenate(sizes), np.concatenate(held).astype(np.float64)) if sizes else None
    return Groups([group for _, group in worst[:WORST]], found, empty, len(looked_at))


def _worst(
    table: CodedTable, clique: Clique, p: FloatArray, q: FloatArray, scale: float
) -> list[tuple[float, SmallGroup]]:
    """The groups whose counts differ most for their size.

    Counts of doubles vary `scale` times as much as those of people.
    """
    surprise = ((p - q) ** 2 / np.maximum(p + scale * q, 1.0)).ravel()
    found = []
    for at in np.argsort(-surprise)[:OF_ONE_PAIR]:
        i, j = np.unravel_index(int(at), p.shape)
        names = tuple(table.modelled[name].code_names[k] for name, k in zip(clique, (i, j), strict=True))
        if surprise[at] > 9:
            found.append(
                (float(surprise[at]), SmallGroup(clique, (names[0], names[1]), float(p[i, j]), float(q[i, j])))
            )
    return found
