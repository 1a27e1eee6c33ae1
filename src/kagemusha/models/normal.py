"""The generator behind `gaussian` and `stat`: a multivariate normal over features, decoded column by column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.models.generator import Arrays, Evidence
from kagemusha.schema.domain import Clique, Domain
from kagemusha.schema.features import STEPS, Features

PROJECTED_ROWS = 1 << 17
"""Marginals are read off this many rows of a fixed seed: there is no closed form for a clipped, rounded normal."""

MOST_TRIES = 1 << 21
"""Rows drawn for a condition before it is called impossible."""

TRIES_A_ROW = 1 << 12
"""Further rows drawn for each row asked for, before a condition is called too narrow."""

LARGEST = 1e6
"""The largest number about features, which lie between −1 and 1, that a file may hold."""

_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Place:
    """Where a column's features lie: labelled ones by the largest score, measured ones by the nearest place."""

    name: str
    size: int
    labelled: bool
    marks: int
    """Codes after the ordinary ones of a measured column (special values, gaps): each has a feature of its own."""
    places: FloatArray
    """For a measured column, the place (−1 to 1) of every ordinary code, rising."""

    @classmethod
    def of(cls, features: Features) -> Place:
        """The way back from a column's features."""
        size, width = features.table.shape
        if features.labelled:
            return cls(features.name, size, True, 0, np.zeros(0))
        marks = width - 1
        return cls(features.name, size, False, marks, features.table[: size - marks, 0] / STEPS)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able description, without the places."""
        return {"name": self.name, "size": self.size, "labelled": self.labelled, "missing": self.marks}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], places: FloatArray) -> Place:
        """The place `to_json` described; raises `ValueError` if the places do not fit it."""
        place = cls(str(data["name"]), int(data["size"]), bool(data["labelled"]), int(data["missing"]), places)
        if place.marks < 0 or (not place.labelled and (places.shape != (place.size - place.marks,) or not len(places))):
            raise ValueError("the places do not fit the columns")
        if not moderate(places) or (np.diff(places) < 0).any():
            raise ValueError("the places do not rise")
        return place

    @property
    def width(self) -> int:
        """Number of features."""
        return self.size if self.labelled else 1 + self.marks

    def codes(self, drawn: FloatArray) -> IntArray:
        """The codes that drawn features stand for."""
        if self.labelled:
            best: IntArray = drawn.argmax(axis=1).astype(np.int64)
            return best
        # clipping to the bounds and rounding to the nearest place in one: beyond the ends the ends are nearest
        codes: IntArray = np.searchsorted((self.places[1:] + self.places[:-1]) / 2, drawn[:, 0]).astype(np.int64)
        if self.marks:
            marked = drawn[:, 1:].max(axis=1) > 0.5
            codes[marked] = self.size - self.marks + drawn[marked, 1:].argmax(axis=1)
        return codes


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
        if found < rows and tried >= MOST_TRIES + TRIES_A_ROW * rows:
            raise UsageError(
                f"where: only {found:,} of {tried:,} doubles fulfil this condition; ask for a wider one, or use a "
                "method with a graphical model (kage, aim), which draws them directly"
            )
    return np.concatenate(kept)[:rows]


@dataclass(frozen=True, eq=False)
class NormalGenerator:
    """N(mean, factor·factorᵀ) over the features of all columns.

    `sample` draws independent rows; a condition is kept exactly, by drawing until enough rows fulfil it. `project`
    is the share of 2¹⁷ rows of a fixed seed, so it is the same every time and off by what that many draws leave.
    """

    kind: ClassVar[str] = "normal"
    domain: Domain
    total: float
    columns: Sequence[Place]
    mean: FloatArray
    factor: FloatArray

    def project(self, clique: Clique) -> FloatArray:
        """Estimated expected counts over a clique."""
        shape = self.domain.shape(clique)
        flat = np.zeros(PROJECTED_ROWS, dtype=np.int64)
        for name in clique:
            flat = flat * self.domain.size(name) + self._reference[:, self.domain.axis(name)]
        shares = np.bincount(flat, minlength=self.domain.cells(clique)) / PROJECTED_ROWS
        return (shares * self.total).reshape(shape)

    @cached_property
    def _reference(self) -> IntArray:
        return self._draw(PROJECTED_ROWS, np.random.default_rng(0))

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Independent synthetic rows."""
        return draw_until(self._draw, self.domain, rows, rng, where) if where else self._draw(rows, rng)

    def _draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        codes = np.empty((rows, len(self.columns)), dtype=np.int64)
        step = max(1, _BLOCK // max(1, len(self.mean)))
        for begin in range(0, rows, step):
            block = codes[begin : begin + step]
            drawn = self.mean + rng.standard_normal((len(block), self.factor.shape[1])) @ self.factor.T
            at = 0
            for axis, column in enumerate(self.columns):
                block[:, axis] = column.codes(drawn[:, at : at + column.width])
                at += column.width
        return codes

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """Mean, factor and the places of measured columns."""
        columns = [column.to_json() for column in self.columns]
        places = {f"places.{i}": c.places for i, c in enumerate(self.columns)}
        return {"total": self.total, "columns": columns}, {"mean": self.mean, "factor": self.factor, **places}

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> NormalGenerator:
        """The generator `to_arrays` described; raises `ValueError` if the parts do not fit together."""
        columns = [Place.from_json(c, arrays[f"places.{i}"]) for i, c in enumerate(meta["columns"])]
        width = sum(column.width for column in columns)
        mean, factor = arrays["mean"], arrays["factor"]
        if mean.shape != (width,) or factor.ndim != 2 or factor.shape[0] != width or factor.shape[1] > width:
            raise ValueError("mean and factor do not fit the columns")
        if not (moderate(mean) and moderate(factor)):
            raise ValueError("mean and factor must be finite")
        domain = Domain(tuple(c.name for c in columns), tuple(c.size for c in columns))
        return cls(domain, float(meta["total"]), columns, mean, factor)


def moderate(values: FloatArray) -> bool:
    """Whether numbers from a file are finite and far from overflow."""
    return bool((np.abs(values) <= LARGEST).all())
