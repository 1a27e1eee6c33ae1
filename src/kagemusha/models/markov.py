"""The generator behind every marginal-based synthesizer: a Markov random field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import DataError
from kagemusha.graphical import MarkovField, Measurement, Tables, rounded_tables, sample_refined
from kagemusha.graphical.refined_sampling import MOST_ROWS as TRADED
from kagemusha.marginals import NoisyMarginal
from kagemusha.models.generator import Arrays, Evidence
from kagemusha.schema.domain import Clique, Domain

MOST_CELLS = 1 << 26
"""Cells of the tree of a model under a condition: half a gigabyte."""

__all__ = ["TRADED", "MarkovGenerator", "measurements_of"]


@dataclass(frozen=True, eq=False)
class MarkovGenerator:
    """Samples a Markov field: rounding down its junction tree, then trades of rows until pairs fit the field."""

    kind: ClassVar[str] = "markov-field"
    field: MarkovField
    hidden: tuple[str, ...] = ()
    """Attributes of the field, after all others, that hold groups of codes and are no columns."""

    @property
    def domain(self) -> Domain:
        """The domain of the codes."""
        whole = self.field.domain
        return whole.project(name for name in whole if name not in self.hidden) if self.hidden else whole

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self.field.total

    def project(self, clique: Clique) -> FloatArray:
        """Expected counts over a clique."""
        return self.field.project(clique)

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over many cliques at once."""
        return self.field.project_many(cliques)

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Synthetic codes; with `where`, from the exact conditional distribution."""
        field = self._given(where)
        shown = field.domain.names[: len(field.domain) - len(self.hidden)]
        return sample_refined(field, rows, rng=rng, columns=shown)[:, : len(shown)]

    def hands(
        self, sizes: Sequence[int], *, rng: np.random.Generator, where: Evidence | None = None
    ) -> Iterator[Callable[[], IntArray]]:
        """The rows of one draw, hand by hand, each as a call that deals it; the calls may run side by side.

        All hands together are what `sample` would draw at once where it does not trade rows (`TRADED`): their counts
        are fixed once for all, so they stay as near to the field as those of one draw.
        """
        field = self._given(where)
        shown = len(field.domain) - len(self.hidden)
        tables = rounded_tables(field, sum(sizes), rng)
        for hand in tables.hands(sizes, rng):
            yield partial(_dealt, hand, shown, rng.spawn(1)[0])

    def _given(self, where: Evidence | None) -> MarkovField:
        field = self.field
        if not math.isfinite(field.log_partition):
            raise DataError("the model rules out every row, so there is none to draw")
        # a condition may tie columns together that the model holds apart
        return field.given(where, max_cells=max(MOST_CELLS, field.tree.cells)) if where else field

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """The field's description and potentials."""
        meta, arrays = self.field.to_arrays()
        return {**meta, "hidden": list(self.hidden)}, arrays

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays, max_cells: int | None = None) -> MarkovGenerator:
        """The generator `to_arrays` described; `ModelTooLarge` if its tree has more than `max_cells` cells."""
        field = MarkovField.from_arrays(meta, dict(arrays), max_cells=max_cells)
        hidden = tuple(map(str, meta.get("hidden", ())))
        if hidden != field.domain.names[len(field.domain) - len(hidden) :]:
            raise ValueError("the hidden attributes must be the last ones of the field")
        return cls(field, hidden)


def _dealt(hand: Tables, shown: int, rng: np.random.Generator) -> IntArray:
    return hand.rows(rng)[:, :shown]


def measurements_of(marginals: Sequence[NoisyMarginal]) -> list[Measurement]:
    """Released marginals as the estimator wants them."""
    return [Measurement(m.clique, m.values.astype(np.float64), m.sigma) for m in marginals]
