"""The generator behind `nigao`: a normal distribution of numbers for each class, in the few directions that matter.

Classes are the cells of some columns. Where there are more labelled columns than these, a Markov field draws all of
them, and the numbers are drawn for the cell it has drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.generator import Arrays
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.generators.normal import HALF, Place
from kagemusha.generators.sampled import SampledGenerator, moderate
from kagemusha.schema.domain import Clique, Domain

_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class ClassGenerator(SampledGenerator):
    """Class c with probability weights[c].

    Then means[c] + basis·(factors[c]·z) + spread·noise, decoded column by column.
    """

    kind: ClassVar[str] = "classes"
    domain: Domain
    total: float
    columns: Sequence[Place]
    """The columns that are drawn inside classes."""
    cells: Clique
    """The columns whose cells are the classes."""
    weights: FloatArray
    means: FloatArray
    basis: FloatArray
    factors: FloatArray
    spread: FloatArray
    labels: MarkovGenerator | None = None
    """Draws the columns of `cells` and those that are neither there nor in `columns`; then `weights` are not used."""
    edges: Mapping[str, FloatArray] = field(default_factory=dict)
    """Where a column's codes begin, after the first one, if not half-way between their places."""
    gaps: FloatArray | None = None
    """For each mark of each column, above what its feature means it; one half if nothing is said."""

    def features(self, classes: IntArray, rng: np.random.Generator) -> Iterator[tuple[slice, FloatArray]]:
        """Features of records of these classes, block by block."""
        # each row of a block gets its class's factor, a square matrix
        step = max(1, _BLOCK // max(1, self.means.shape[1], self.basis.shape[1] ** 2))
        for begin in range(0, len(classes), step):
            rows = slice(begin, min(begin + step, len(classes)))
            whose = classes[rows]
            inner = rng.standard_normal((len(whose), self.basis.shape[1]))
            inner = np.einsum("nij,nj->ni", self.factors[whose], inner)
            drawn = self.means[whose] + inner @ self.basis.T
            drawn += self.spread * rng.standard_normal(drawn.shape)
            yield rows, drawn

    def _draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        codes = np.empty((rows, len(self.domain)), dtype=np.int64)
        if self.labels is None:
            classes = rng.choice(len(self.weights), rows, p=self.weights)
            cells = np.unravel_index(classes, self.domain.shape(self.cells)) if self.cells else ()
            for name, drawn in zip(self.cells, cells, strict=True):
                codes[:, self.domain.axis(name)] = drawn
        else:
            labelled = [self.domain.axis(name) for name in self.labels.domain]
            codes[:, labelled] = self.labels.sample(rows, rng=rng)
            classes = self.domain.flat(self.cells, codes.T)
        axes = [self.domain.axis(place.name) for place in self.columns]
        gaps = np.full(sum(place.marks for place in self.columns), HALF) if self.gaps is None else self.gaps
        for block, features in self.features(classes, rng):
            at = marks = 0
            for axis, place in zip(axes, self.columns, strict=True):
                mine, above = features[:, at : at + place.width], gaps[marks : marks + place.marks]
                codes[block, axis] = place.codes(mine, edges=self.edges.get(place.name), gaps=above)
                at, marks = at + place.width, marks + place.marks
        return codes

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        meta: dict[str, Any] = {
            "total": self.total,
            "cells": list(self.cells),
            "names": list(self.domain.names),
            "sizes": list(self.domain.sizes),
            "columns": [place.to_json() for place in self.columns],
        }
        arrays = {
            "weights": self.weights,
            "means": self.means,
            "basis": self.basis,
            "factors": self.factors,
            "spread": self.spread,
        }
        arrays |= {f"places.{i}": place.places for i, place in enumerate(self.columns)}
        arrays |= {f"edges.{i}": self.edges[p.name] for i, p in enumerate(self.columns) if p.name in self.edges}
        if self.gaps is not None:
            arrays["gaps"] = self.gaps
        if self.labels is not None:
            meta["labels"], inner = self.labels.to_arrays()
            arrays |= {f"labels.{name}": array for name, array in inner.items()}
        return meta, arrays

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays, max_cells: int | None = None) -> ClassGenerator:
        """The generator `to_arrays` described; raises `ValueError` if the parts do not fit together.

        `ModelTooLarge` if the tree of its labels has more than `max_cells` cells.
        """
        columns = [Place.from_json(c, arrays[f"places.{i}"]) for i, c in enumerate(meta["columns"])]
        domain = Domain(tuple(map(str, meta["names"])), tuple(map(int, meta["sizes"])))
        cells = _cells(meta)
        edges = {p.name: arrays[f"edges.{i}"] for i, p in enumerate(columns) if f"edges.{i}" in arrays}
        names = ("weights", "means", "basis", "factors", "spread")
        weights, means, basis, factors, spread = parts = [arrays[name] for name in names]
        labels = _labels(meta, arrays, max_cells)
        drawn = domain.project(cells) if labels is None else labels.domain
        named = {place.name: place.size for place in columns} | dict(zip(drawn.names, drawn.sizes, strict=True))
        if named != dict(zip(domain.names, domain.sizes, strict=True)) or not set(cells) <= set(drawn.names):
            raise ValueError("the columns do not fit the domain")
        if len(named) != len(columns) + len(drawn) or domain.cells(cells) != len(weights):
            raise ValueError("the classes do not fit the columns")
        classes, inner, width = len(weights), basis.shape[-1], sum(place.width for place in columns)
        shapes = (means.shape, basis.shape, factors.shape, spread.shape)
        if shapes != ((classes, width), (width, inner), (classes, inner, inner), (width,)):
            raise ValueError("the parts do not fit the columns")
        gaps = arrays.get("gaps")
        if not all(map(moderate, [*parts, *edges.values(), *([] if gaps is None else [gaps])])) or inner > width:
            raise ValueError("a part is not finite")
        if not (len(weights) and weights.min() >= 0 and abs(float(weights.sum()) - 1) < 1e-9):
            raise ValueError("the weights are no shares of one whole")
        if gaps is not None and gaps.shape != (sum(place.marks for place in columns),):
            raise ValueError("the gaps do not fit the columns")
        for place in columns:
            mine = edges.get(place.name)
            if mine is not None and (mine.shape != (len(place.places) - 1,) or (np.diff(mine) < 0).any()):
                raise ValueError("the edges do not fit the places")
        return cls(
            domain,
            float(meta["total"]),
            columns,
            cells,
            weights,
            means,
            basis,
            factors,
            spread,
            labels=labels,
            edges=edges,
            gaps=gaps,
        )


def _cells(meta: Mapping[str, Any]) -> Clique:
    if "cells" in meta:
        return tuple(map(str, meta["cells"]))
    return () if meta["target"] is None else (str(meta["target"]),)  # as the first files said it


def _labels(meta: Mapping[str, Any], arrays: Arrays, max_cells: int | None) -> MarkovGenerator | None:
    if meta.get("labels") is None:
        return None
    if meta["labels"]["total"] != meta["total"]:
        raise ValueError("labels and numbers are not of the same records")
    inner = {name.removeprefix("labels."): array for name, array in arrays.items() if name.startswith("labels.")}
    return MarkovGenerator.from_arrays(meta["labels"], inner, max_cells)
