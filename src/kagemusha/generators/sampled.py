"""What generators share that can only be drawn from.

Marginals off a reference draw, conditions by drawing until they hold.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.generators.generator import Evidence, Generator
from kagemusha.schema.domain import Clique, Domain

REFERENCE_ROWS, REFERENCE_CELLS = (1 << 12, 1 << 17), 1 << 24
"""Marginals are read off so many rows of a fixed seed: fewer of wide tables, so that all codes stay within the
cells."""

MOST_TRIES = 1 << 21
"""Rows drawn for a condition before it is called impossible."""

TRIES_PER_ROW = 1 << 12
"""Further rows drawn for each row asked for, before a condition is called too narrow."""

LARGEST = 1e6
"""The largest number about features, which lie between −1 and 1, that a file may hold."""


class SampledGenerator(Generator):
    """A generator without marginals in closed form. `_draw` makes independent rows; the rest follows from it.

    `project` is the share of `reference_rows` rows of a fixed seed, so it is the same every time and off by what that
    many draws leave. `sample` keeps a condition exactly, by drawing until enough rows fulfil it.
    """

    domain: Domain
    total: float

    @abstractmethod
    def _draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        """Independent rows of codes."""

    @property
    def reference_rows(self) -> int:
        """Rows off which marginals are read."""
        fewest, most = REFERENCE_ROWS
        return max(fewest, min(most, REFERENCE_CELLS // len(self.domain)))

    @cached_property
    def _reference(self) -> list[Codes]:
        drawn = self._draw(self.reference_rows, np.random.default_rng(0))
        return [np.ascontiguousarray(drawn[:, i].astype(np.int32)) for i in range(drawn.shape[1])]

    def project(self, clique: Clique) -> FloatArray:
        """Estimated expected counts over a clique."""
        flat = self.domain.flat(clique, self._reference)
        shares = np.bincount(flat, minlength=self.domain.cells(clique)) / len(flat)
        return (shares * self.total).reshape(self.domain.shape(clique))

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Independent synthetic rows."""
        return draw_until(self._draw, self.domain, rows, rng, where) if where else self._draw(rows, rng)


def draw_until(
    draw: Callable[[int, np.random.Generator], IntArray],
    domain: Domain,
    rows: int,
    rng: np.random.Generator,
    where: Evidence,
) -> IntArray:
    """Rows of `draw` that fulfil a condition, exactly: drawn until there are enough."""
    kept: list[IntArray] = []
    found = tried = 0
    while found < rows:
        batch = draw(max(1024, min(1 << 18, 2 * rows)), rng)
        tried += len(batch)
        chance = np.ones(len(batch))
        for clique, weights in where.items():
            chance *= weights[tuple(batch[:, domain.axis(name)] for name in clique)]
        kept.append(batch[rng.random(len(batch)) < chance])
        found += len(kept[-1])
        if not found and tried >= MOST_TRIES:
            raise UsageError("where: no double can fulfil this condition")
        if found < rows and tried >= MOST_TRIES + TRIES_PER_ROW * rows:
            raise UsageError(
                f"where: only {found:,} of {tried:,} doubles fulfil this condition; ask for a wider one, or use a "
                "method with a graphical model (kage, aim), which draws them directly"
            )
    return np.concatenate(kept)[:rows]


def moderate(values: FloatArray) -> bool:
    """Whether numbers from a file are finite and far from overflow."""
    return bool((np.abs(values) <= LARGEST).all())
