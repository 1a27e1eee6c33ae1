"""The generator behind `nigao`: a normal distribution for each class, in the few directions that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.models.generator import Arrays, Evidence
from kagemusha.models.normal import Place, draw_until, moderate
from kagemusha.schema.domain import Clique, Domain

PROJECTED_CELLS = 1 << 25
"""Marginals are read off so many codes of a fixed seed; of wide tables these are fewer rows."""

_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class ClassGenerator:
    """Class c with probability weights[c]; then means[c] + basis·(factors[c]·z) + spread·noise, decoded column by column."""

    kind: ClassVar[str] = "classes"
    domain: Domain
    total: float
    columns: Sequence[Place]
    """All columns but the class."""
    target: str | None
    weights: FloatArray
    means: FloatArray
    basis: FloatArray
    factors: FloatArray
    spread: FloatArray

    def project(self, clique: Clique) -> FloatArray:
        """Estimated expected counts over a clique."""
        reference = self._reference
        rows = len(reference[0])
        flat = np.zeros(rows, dtype=np.int64)
        for name in clique:
            flat = flat * self.domain.size(name) + reference[self.domain.axis(name)]
        shares = np.bincount(flat, minlength=self.domain.cells(clique)) / rows
        return (shares * self.total).reshape(self.domain.shape(clique))

    @cached_property
    def _reference(self) -> list[Codes]:
        rows = max(1 << 12, min(1 << 17, PROJECTED_CELLS // len(self.domain)))
        drawn = self._draw(rows, np.random.default_rng(0))
        return [np.ascontiguousarray(drawn[:, i].astype(np.int32)) for i in range(drawn.shape[1])]

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Independent synthetic rows; a condition is kept exactly, by drawing until enough rows fulfil it."""
        return draw_until(self._draw, self.domain, rows, rng, where) if where else self._draw(rows, rng)

    def _draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        codes = np.empty((rows, len(self.domain)), dtype=np.int64)
        classes = rng.choice(len(self.weights), rows, p=self.weights)
        axes = [self.domain.axis(place.name) for place in self.columns]
        if self.target is not None:
            codes[:, self.domain.axis(self.target)] = classes
        step = max(1, _BLOCK // max(1, self.means.shape[1]))
        for begin in range(0, rows, step):
            block, whose = codes[begin : begin + step], classes[begin : begin + step]
            inner = rng.standard_normal((len(block), self.basis.shape[1]))
            inner = np.einsum("nij,nj->ni", self.factors[whose], inner)
            drawn = self.means[whose] + inner @ self.basis.T
            drawn += self.spread * rng.standard_normal(drawn.shape)
            at = 0
            for axis, place in zip(axes, self.columns, strict=True):
                block[:, axis] = place.codes(drawn[:, at : at + place.width])
                at += place.width
        return codes

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """Everything as arrays."""
        meta = {
            "total": self.total,
            "target": self.target,
            "names": list(self.domain.names),
            "sizes": list(self.domain.sizes),
            "columns": [place.to_json() for place in self.columns],
        }
        parts = {name: getattr(self, name) for name in ("weights", "means", "basis", "factors", "spread")}
        return meta, {**parts, **{f"places.{i}": place.places for i, place in enumerate(self.columns)}}

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> ClassGenerator:
        """The generator `to_arrays` described; raises `ValueError` if the parts do not fit together."""
        columns = [Place.from_json(c, arrays[f"places.{i}"]) for i, c in enumerate(meta["columns"])]
        domain = Domain(tuple(map(str, meta["names"])), tuple(map(int, meta["sizes"])))
        target = None if meta["target"] is None else str(meta["target"])
        width = sum(place.width for place in columns)
        weights, means, basis = arrays["weights"], arrays["means"], arrays["basis"]
        factors, spread = arrays["factors"], arrays["spread"]
        classes, inner = len(weights), basis.shape[-1]
        named = {place.name: place.size for place in columns} | ({} if target is None else {target: classes})
        if named != dict(zip(domain.names, domain.sizes, strict=True)):
            raise ValueError("the columns do not fit the domain")
        shapes = (means.shape, basis.shape, factors.shape, spread.shape)
        if shapes != ((classes, width), (width, inner), (classes, inner, inner), (width,)):
            raise ValueError("the parts do not fit the columns")
        if not all(map(moderate, (weights, means, basis, factors, spread))) or inner > width:
            raise ValueError("a part is not finite")
        if not (len(weights) and weights.min() >= 0 and abs(float(weights.sum()) - 1) < 1e-9):
            raise ValueError("the weights are no shares of one whole")
        return cls(domain, float(meta["total"]), columns, target, weights, means, basis, factors, spread)
