"""Whom the adversary goes for: rows at random, the most outlying rows, or the most outlying points of the whole domain.

Outlying is Mahalanobis' distance M(D, x) = √((x−μ)ᵀ Σ⁺ (x−μ)), with Σ over n (not n − 1) and its pseudo-inverse:
one-hot columns make Σ singular, and a ridge would turn pairs of columns that determine each other into distances of its
own making. M² is convex, so along a number its largest value is at a bound: coordinate ascent over the corners of the
domain, from many starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.attacks.features import Lens, Space
from kagemusha.attacks.table import GameTable, World
from kagemusha.errors import UsageError

KINDS = ("random", "selective", "adaptive", "blind")
STARTS = 30
"""Starts of the ascent."""

CUTOFF = 1e-9
"""Directions whose variance is below this part of the largest one (in coordinates of variance one) count as none."""


@dataclass(frozen=True, eq=False)
class Target:
    """The rows that one world has and the other has not.

    Members are rows of the table (D_pos = D, D_neg lacks them); made ones are points of the domain (D_pos has them
    more).
    """

    name: str
    rows: tuple[tuple[int, ...], ...]
    members: tuple[int, ...] = ()
    distance: float = float("nan")
    """M(D, x) of the first."""
    copies: int = 1
    """How often each row is there: a person of so many rows, all alike, which is what shows most of them."""

    @property
    def codes(self) -> IntArray:
        """One row of codes each."""
        return np.array(self.rows, dtype=np.int64)

    def worlds(self, table: GameTable) -> tuple[World, World]:
        """Without the target, and with it."""
        if self.members:
            return World(table, minus=self.members), World(table, plus=self.rows * (self.copies - 1))
        return World(table), World(table, plus=self.rows * self.copies)


class Mahalanobis:
    """The distance from a table's middle, in units of how the table is spread."""

    def __init__(self, table: GameTable, space: Space | None = None) -> None:
        # coordinates of variance one: numbers of very different size would drown the small ones in rounding errors
        chosen = space or Space("onehot")
        self.lens = Lens(Space(chosen.expansion, "sd", chosen.without), table)
        points = self.lens.of_codes(table.codes)
        self.mean = points.mean(axis=0)
        centred = points - self.mean
        covariance = centred.T @ centred / len(points)
        self.inverse: FloatArray = np.linalg.pinv(covariance, rcond=CUTOFF, hermitian=True)
        self.rank = int(
            np.linalg.matrix_rank(covariance, tol=CUTOFF * float(np.linalg.norm(covariance, 2)), hermitian=True)
        )
        self._points = points

    def of_rows(self) -> FloatArray:
        """M of every row of the table."""
        gap = self._points - self.mean
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->i", gap @ self.inverse, gap), 0.0)))

    def of_codes(self, codes: Codes) -> FloatArray:
        """M of rows of codes."""
        gap = self.lens.of_codes(np.atleast_2d(codes)) - self.mean
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->i", gap @ self.inverse, gap), 0.0)))


def choose(
    kind: str, table: GameTable, *, count: int = 1, space: Space | None = None, rng: np.random.Generator
) -> Target:
    """The target of a kind: `count` rows at once are hidden or shown together.

    `random`, `selective` and `adaptive` see the table first; `blind` knows the declared domain alone.
    """
    if kind not in KINDS:
        raise UsageError(f"a target must be one of {', '.join(KINDS)}, got {kind!r}")
    most = table.rows - 1 if kind in ("random", "selective") else 100_000
    if not 1 <= count <= most:
        raise UsageError(f"the number of targets must be at least 1 and at most {most:,}, got {count}")
    if kind == "random":
        rows = rng.choice(table.rows, count, replace=False)
        return _members(kind, table, rows, float("nan"))
    if kind == "blind":
        return Target(kind, _as_rows(_blind(table, count, rng)))
    measure = Mahalanobis(table, space)
    if kind == "selective":
        distances = measure.of_rows()
        order = np.argsort(-distances, kind="stable")[:count]
        return _members(kind, table, order, float(distances[order[0]]))
    found = ascend(measure, table, count=count, rng=rng)
    return Target(kind, _as_rows(found), distance=float(measure.of_codes(found[0])[0]))


def _members(kind: str, table: GameTable, rows: IntArray, distance: float) -> Target:
    at = np.asarray(rows, dtype=np.int64)
    return Target(kind, _as_rows(table.codes[at]), tuple(int(i) for i in at), distance)


def _as_rows(codes: Codes) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(v) for v in row) for row in np.atleast_2d(codes))


def _blind(table: GameTable, count: int, rng: np.random.Generator) -> IntArray:
    """Corners of the declared domain: every number at a bound, every label equally likely."""
    found: list[list[int]] = []
    for _ in range(count):
        found.append([int(rng.choice(options)) for options in _corners(table)])
    return np.array(found, dtype=np.int64)


def _corners(table: GameTable) -> list[IntArray]:
    """For every column the codes that a corner may have: all labels, and the two bounds of a number."""
    return [
        np.unique(np.array([0, column.n_values - 1])) if column.axis is not None else np.arange(column.size)
        for column in table.schema.modelled
    ]


def ascend(measure: Mahalanobis, table: GameTable, *, count: int, rng: np.random.Generator) -> IntArray:
    """The `count` points of the domain farthest from the table's middle, no two with the same categories.

    From each start one column after the other takes the code that leads farthest, until none does. Every point met on
    the way is remembered under its categories, so that many targets cost as much as one.
    """
    lens, options = measure.lens, _corners(table)
    labelled = [i for i, column in enumerate(table.schema.modelled) if column.axis is None]
    starts = np.cumsum([0, *(t.shape[1] for t in lens.tables)])
    met: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {}

    def remember(codes: IntArray, values: FloatArray) -> None:
        for row, value in zip(codes.tolist(), values.tolist(), strict=True):
            key = tuple(row[i] for i in labelled) if labelled else tuple(row)
            if key not in met or met[key][0] < value:
                met[key] = (value, tuple(row))

    for start in range(max(STARTS, min(4 * count, 400))):
        now = np.array([rng.choice(codes) for codes in options], dtype=np.int64)
        if start < STARTS // 2:
            now = table.codes[rng.integers(table.rows)].astype(np.int64)
        moved = True
        while moved:
            moved = False
            for place, axis in enumerate(lens.axes):
                gap = lens.of_codes(now[None, :])[0] - measure.mean
                own = slice(starts[place], starts[place + 1])
                step = lens.tables[place][options[axis]] - lens.tables[place][now[axis]]
                pull = measure.inverse[own] @ gap
                gain = 2 * step @ pull + np.einsum("ij,jk,ik->i", step, measure.inverse[own, own], step)
                base = float(gap @ measure.inverse @ gap)
                tried = np.repeat(now[None, :], len(gain), axis=0)
                tried[:, axis] = options[axis]
                remember(tried, base + gain)
                best = int(np.argmax(gain))
                if gain[best] > 1e-9 * max(1.0, base) and options[axis][best] != now[axis]:
                    now[axis] = options[axis][best]
                    moved = True
    ranked = sorted(met.values(), key=lambda one: -one[0])
    if len(ranked) < count:
        raise UsageError(f"{count:,} targets were asked for, but the domain has {len(ranked):,} corners in reach")
    return np.array([row for _, row in ranked[:count]], dtype=np.int64)


def exposure(table: GameTable, space: Space | None = None) -> FloatArray:
    """The rank of every row by how far it lies from the others, from 0 (most exposed) to 1. INTERNAL."""
    distances = Mahalanobis(table, space).of_rows()
    ranks = np.empty(len(distances))
    ranks[np.argsort(-distances, kind="stable")] = np.arange(len(distances))
    return ranks / max(1, len(distances) - 1)


def names(kinds: Sequence[str]) -> tuple[str, ...]:
    """Kinds that are known; anything else is a UsageError."""
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"a target must be one of {', '.join(KINDS)}, got {kind!r}")
    return tuple(kinds)
