"""The generator behind the deep methods: a code from a mixture, then a stack of linear layers with ReLU.

Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.generator import Arrays
from kagemusha.generators.normal import Place
from kagemusha.generators.sampled import SampledGenerator, moderate
from kagemusha.schema.domain import Domain

LEAST_GAPS = 1e-4
"""The least chance of a gap where a column may have gaps."""

_BLOCK = 1 << 22
MOST_LAYERS = 8
MOST_PARTS = 1000


def _one_at_most(chances: FloatArray, rng: np.random.Generator) -> FloatArray:
    """For each row at most one mark, each with its chance (made smaller where they are more than 1 together)."""
    rising = np.cumsum(chances, axis=1) / np.maximum(chances.sum(axis=1, keepdims=True), 1.0)
    at = (rng.random((len(chances), 1)) >= rising).sum(axis=1)
    return np.asarray(at[:, None] == np.arange(chances.shape[1]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Decoder:
    """One part: a mixture N(means[k], factors[k]·factors[k]ᵀ) with weights, and the matrices that make a row of a code.

    The last column of a matrix is its bias. A first matrix wider than the code takes the component too, as a one-hot
    block.
    """

    weights: FloatArray
    means: FloatArray
    factors: FloatArray
    matrices: Sequence[FloatArray]

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Features of rows, and the component of each."""
        component = rng.choice(len(self.weights), rows, p=self.weights)
        drawn = rng.standard_normal((rows, self.means.shape[1]))
        x = self.means[component] + np.einsum("nij,nj->ni", self.factors[component], drawn)
        if self.matrices[0].shape[1] - 1 > x.shape[1]:
            x = np.hstack([x, np.eye(len(self.weights))[component]])
        for i, matrix in enumerate(self.matrices):
            x = x @ matrix[:, :-1].T + matrix[:, -1]
            if i < len(self.matrices) - 1:
                np.maximum(x, 0.0, out=x)
        return x, component

    def problem(self, width: int) -> str:
        """Why the arrays are no decoder of so many features; empty if they are."""
        count, inner = len(self.weights), self.means.shape[-1]
        if self.means.shape != (count, inner) or self.factors.shape != (count, inner, inner):
            return "the mixture's parts do not fit together"
        if not 1 <= len(self.matrices) <= MOST_LAYERS or any(m.ndim != 2 for m in self.matrices):
            return "not a stack of matrices"
        if self.matrices[0].shape[1] - 1 not in (inner, inner + count) or self.matrices[-1].shape[0] != width:
            return "the matrices do not fit the columns"
        if any(after.shape[1] != before.shape[0] + 1 for before, after in pairwise(self.matrices)):
            return "the matrices do not fit together"
        if not all(map(moderate, (self.weights, self.means, self.factors, *self.matrices))):
            return "a part is not finite"
        if not (count and self.weights.min() >= 0 and abs(float(self.weights.sum()) - 1) < 1e-9):
            return "the weights are no shares of one whole"
        return ""


@dataclass(frozen=True, eq=False)
class DecoderGenerator(SampledGenerator):
    """A part with probability shares[p], then a row of it, decoded column by column.

    Labelled columns are drawn from the softmax of their scores (`drawn`), or are the best score. `target` is a column
    that is the component itself, None where all columns come out of the decoder.
    """

    kind: ClassVar[str] = "decoders"
    domain: Domain
    total: float
    columns: Sequence[Place]
    target: str | None
    drawn: bool
    shares: FloatArray
    parts: Sequence[Decoder]

    def _draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        codes = np.empty((rows, len(self.domain)), dtype=np.int64)
        whose = rng.choice(len(self.shares), rows, p=self.shares)
        widest = max(max(m.shape[0] for m in part.matrices) for part in self.parts)
        # each row of a block gets its component's factor, a square matrix
        step = max(1, _BLOCK // max(widest, *(part.means.shape[1] ** 2 for part in self.parts)))
        for p, part in enumerate(self.parts):
            mine = np.flatnonzero(whose == p)
            for begin in range(0, len(mine), step):
                at = mine[begin : begin + step]
                codes[at] = self._decoded(*part.draw(len(at), rng), rng)
        return codes

    def _decoded(self, features: FloatArray, component: IntArray, rng: np.random.Generator) -> IntArray:
        block = np.empty((len(features), len(self.domain)), dtype=np.int64)
        if self.target is not None:
            block[:, self.domain.axis(self.target)] = component
        at = 0
        for place in self.columns:
            part = features[:, at : at + place.width]
            if place.labelled and self.drawn:
                # the largest of scores with Gumbel noise is a draw from their softmax
                part = part + rng.gumbel(size=part.shape)
            elif place.marks and self.drawn:
                # trained by squared error, the later features are chances of special values and a gap; none is ruled
                # out
                part = np.column_stack([part[:, 0], _one_at_most(np.maximum(part[:, 1:], LEAST_GAPS), rng)])
            block[:, self.domain.axis(place.name)] = place.codes(part)
            at += place.width
        return block

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        meta = {
            "total": self.total,
            "target": self.target,
            "drawn": self.drawn,
            "names": list(self.domain.names),
            "sizes": list(self.domain.sizes),
            "columns": [place.to_json() for place in self.columns],
            "layers": [len(part.matrices) for part in self.parts],
        }
        arrays: dict[str, np.ndarray[Any, Any]] = {"shares": self.shares}
        for p, part in enumerate(self.parts):
            arrays |= {f"weights.{p}": part.weights, f"means.{p}": part.means, f"factors.{p}": part.factors}
            arrays |= {f"matrix.{p}.{i}": matrix for i, matrix in enumerate(part.matrices)}
        return meta, {**arrays, **{f"places.{i}": place.places for i, place in enumerate(self.columns)}}

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> DecoderGenerator:
        """The generator `to_arrays` described; raises `ValueError` if the parts do not fit together."""
        columns = [Place.from_json(c, arrays[f"places.{i}"]) for i, c in enumerate(meta["columns"])]
        domain = Domain(tuple(map(str, meta["names"])), tuple(map(int, meta["sizes"])))
        target = None if meta["target"] is None else str(meta["target"])
        layers, shares = meta["layers"], arrays["shares"]
        if not (isinstance(layers, list) and 1 <= len(layers) <= MOST_PARTS and len(shares) == len(layers)):
            raise ValueError("not as many parts as shares")
        parts = [
            Decoder(
                arrays[f"weights.{p}"],
                arrays[f"means.{p}"],
                arrays[f"factors.{p}"],
                [arrays[f"matrix.{p}.{i}"] for i in range(min(int(count), MOST_LAYERS + 1))],
            )
            for p, count in enumerate(layers)
        ]
        width = sum(place.width for place in columns)
        for problem in (part.problem(width) for part in parts):
            if problem:
                raise ValueError(problem)
        known = {len(part.weights) for part in parts}
        classes = {} if target is None else {target: known.pop() if len(known) == 1 else -1}
        if {place.name: place.size for place in columns} | classes != dict(
            zip(domain.names, domain.sizes, strict=True)
        ):
            raise ValueError("the columns do not fit the domain")
        if not (moderate(shares) and shares.min() >= 0 and abs(float(shares.sum()) - 1) < 1e-9):
            raise ValueError("the shares are none of one whole")
        return cls(domain, float(meta["total"]), columns, target, bool(meta["drawn"]), shares, parts)
