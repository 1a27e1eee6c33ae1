"""The generator behind `gaussian` and `stat`: a multivariate normal over features, decoded column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.generator import Arrays
from kagemusha.generators.sampled import SampledGenerator, moderate
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import STEPS, Features

_BLOCK = 1 << 22
HALF = 0.5
"""A mark (a special value, a missing number) counts from here, if nothing else is said."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a column's features lie: labelled ones by the largest score, measured ones by the nearest place."""

    name: str
    size: int
    labelled: bool
    marks: int
    """Codes after those of the values of a measured column (special values, gaps): each has a feature of its own."""
    places: FloatArray
    """For a measured column, the place (−1 to 1) of every code of a value, rising."""

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

    def codes(self, drawn: FloatArray, *, edges: FloatArray | None = None, gaps: FloatArray | None = None) -> IntArray:
        """The codes that drawn features stand for: the nearest place, or by `edges`.

        A mark if its feature passes its gap.
        """
        if self.labelled:
            best: IntArray = drawn.argmax(axis=1).astype(np.int64)
            return best
        # clipping to the bounds and rounding to the nearest place in one: beyond the ends the ends are nearest
        between = (self.places[1:] + self.places[:-1]) / 2 if edges is None else edges
        codes: IntArray = np.searchsorted(between, drawn[:, 0]).astype(np.int64)
        if self.marks:
            above = drawn[:, 1:] - (HALF if gaps is None else gaps)
            marked = above.max(axis=1) > 0
            codes[marked] = self.size - self.marks + above[marked].argmax(axis=1)
        return codes


@dataclass(frozen=True, eq=False)
class NormalGenerator(SampledGenerator):
    """N(mean, factor·factorᵀ) over the features of all columns."""

    kind: ClassVar[str] = "normal"
    domain: Domain
    total: float
    columns: Sequence[Place]
    mean: FloatArray
    factor: FloatArray

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
