"""The generator behind every marginal-based synthesizer: a Markov random field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import DataError, ModelTooLarge
from kagemusha.generators.generator import Arrays, Evidence, Generator
from kagemusha.graphical import MarkovField, Measurement, Tables, rounded_tables, sample_refined
from kagemusha.graphical.refined_sampling import MOST_TRADES, trade_towards
from kagemusha.graphical.refined_sampling import TRADED_ROWS as TRADED
from kagemusha.marginals import NoisyMarginal
from kagemusha.schema.domain import Clique, Domain

CONDITIONED_CELLS = 1 << 26
"""Cells of the tree of a model under a condition: half a gigabyte."""

__all__ = ["TRADED", "MarkovGenerator", "measurements_of"]


@dataclass(frozen=True, eq=False)
class MarkovGenerator(Generator):
    """Samples a Markov field: rounding down its junction tree, then trades of rows until pairs fit the field."""

    kind: ClassVar[str] = "markov-field"
    field: MarkovField
    hidden: tuple[str, ...] = ()
    """Attributes of the field, after all others, that hold groups of codes and are no columns."""
    pairs: Mapping[Clique, FloatArray] = dataclass_field(default_factory=dict)
    """Expected counts of pairs (in domain order) that the field has no room for: rows are traded towards them."""

    @property
    def domain(self) -> Domain:
        """The domain of the codes."""
        whole = self.field.domain
        return whole.project(name for name in whole if name not in self.hidden) if self.hidden else whole

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, IntArray]]:
        """For a column whose codes share groups: the hidden attribute that holds them, and the group of every code."""
        found: dict[str, tuple[str, IntArray]] = {}
        for clique, table in self.field.potentials.items():
            if len(clique) == 2 and clique[1] in self.hidden and clique[1].startswith(f"{clique[0]} (group)"):
                found[clique[0]] = clique[1], np.argmax(table, axis=1)
        return found

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self.field.total

    def project(self, clique: Clique) -> FloatArray:
        return self.project_many([clique])[0]

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over many cliques at once; in bounded time, see `MarkovField.project_soon`."""
        if not self.pairs:
            return self.field.project_soon(cliques)
        found = {c: self._own(c) for c in dict.fromkeys(map(tuple, cliques))}
        others = [c for c, table in found.items() if table is None]
        found |= dict(zip(others, self.field.project_soon(others), strict=True))
        return [np.array(found[tuple(c)]) for c in cliques]

    def _own(self, clique: Clique) -> FloatArray | None:
        """The table of a pair that is not the field's, axes in the order given."""
        if clique in self.pairs:
            return self.pairs[clique]
        return self.pairs[clique[::-1]].T if clique[::-1] in self.pairs else None

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Synthetic codes; with `where`, from the exact conditional distribution of the field."""
        field = self._given(where)
        shown = field.domain.names[: len(field.domain) - len(self.hidden)]
        pairs = None if where else self.pairs
        return sample_refined(field, rows, rng=rng, columns=shown, pairs=pairs)[:, : len(shown)]

    def hands(
        self, sizes: Sequence[int], *, rng: np.random.Generator, where: Evidence | None = None
    ) -> Iterator[Callable[[], IntArray]]:
        """The rows of one draw, hand by hand, each as a call that deals it; the calls may run side by side.

        All hands together are what `sample` would draw at once where it does not trade rows (`TRADED`): their counts
        are fixed once for all, so they stay as near to the field as those of one draw.
        """
        field = self._given(where)
        shown = len(field.domain) - len(self.hidden)
        rows = sum(sizes)
        tables = rounded_tables(field, rows, rng)
        for hand in tables.hands(sizes, rng):
            # the hands together look at as many tables as one draw would
            looks = MOST_TRADES * hand.size // max(1, rows)
            yield partial(_dealt, self, {} if where else self.pairs, hand, shown, looks, rng.spawn(1)[0])

    def _given(self, where: Evidence | None) -> MarkovField:
        field = self.field
        if not math.isfinite(field.log_partition):
            raise DataError("the model rules out every row, so there is none to draw")
        # a condition may tie columns together that the model holds apart
        return field.given(where, max_cells=max(CONDITIONED_CELLS, field.tree.cells)) if where else field

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """The field's description and potentials."""
        meta, arrays = self.field.to_arrays()
        tables = {f"pair.{i}": table for i, table in enumerate(self.pairs.values())}
        return {**meta, "hidden": list(self.hidden), "pairs": [list(pair) for pair in self.pairs]}, arrays | tables

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays, max_cells: int | None = None) -> MarkovGenerator:
        """The generator `to_arrays` described; `ModelTooLarge` if its tree has more than `max_cells` cells."""
        field = MarkovField.from_arrays(meta, dict(arrays), max_cells=max_cells)
        hidden = tuple(map(str, meta.get("hidden", ())))
        if hidden != field.domain.names[len(field.domain) - len(hidden) :]:
            raise ValueError("the hidden attributes must be the last ones of the field")
        return cls(field, hidden, _pairs_of(field, hidden, meta.get("pairs", []), arrays, max_cells))


def _pairs_of(
    field: MarkovField, hidden: Sequence[str], pairs: Any, arrays: Arrays, max_cells: int | None
) -> dict[Clique, FloatArray]:
    """The tables of pairs in a file, if they fit the field and are such as rows can have."""
    domain = field.domain
    found: dict[Clique, FloatArray] = {}
    for i, names in enumerate(pairs):
        pair: Clique = tuple(map(str, names))
        if len(pair) != 2 or not all(n in domain and n not in hidden for n in pair) or pair != domain.canonical(pair):
            raise ValueError("a table of a pair must be over two columns, in order")
        table = np.asarray(arrays[f"pair.{i}"], dtype=np.float64)
        if table.shape != domain.shape(pair) or not (np.isfinite(table).all() and (table >= 0).all() and table.any()):
            raise ValueError(f"the table of {pair} must hold counts of every combination of its codes")
        found[pair] = table
    if max_cells is not None and sum(map(domain.cells, found)) > max_cells:
        raise ModelTooLarge(f"the tables of pairs have more than {max_cells:,} cells")
    return found


def _dealt(
    generator: MarkovGenerator,
    pairs: Mapping[Clique, FloatArray],
    hand: Tables,
    shown: int,
    looks: int,
    rng: np.random.Generator,
) -> IntArray:
    codes = hand.rows(rng)
    if pairs:
        names = generator.field.domain.names[:shown]
        trade_towards(generator.field, codes, pairs, rng=rng, columns=names, most=looks)
    return codes[:, :shown]


def measurements_of(marginals: Sequence[NoisyMarginal]) -> list[Measurement]:
    """Released marginals as the estimator wants them."""
    return [Measurement(m.clique, m.values.astype(np.float64), m.sigma) for m in marginals]
