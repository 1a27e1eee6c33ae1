"""What a generator is, and what a synthesizer tells about how it came by one: all of it released, none private."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.schema.domain import Clique, Domain

Arrays = Mapping[str, np.ndarray[Any, Any]]

Evidence = Mapping[Clique, FloatArray]
"""For some cliques, how likely each combination is to fulfil a condition, from 0 to 1."""


MAX_ROWS = 10**9
"""The longest synthetic table that may be asked for."""


class Generator(ABC):
    """A fitted distribution over codes; everything about it may be published."""

    kind: ClassVar[str]

    if TYPE_CHECKING:  # fields of some generators, worked out by others

        @property
        def domain(self) -> Domain:
            """The domain of the codes."""
            ...

        @property
        def total(self) -> float:
            """The estimated (or public) number of records."""
            ...

    @property
    def most_rows(self) -> int:
        """The most rows that may be asked for."""
        return MAX_ROWS

    @abstractmethod
    def project(self, clique: Clique) -> FloatArray:
        """Expected counts over a clique, for `total` records."""

    def project_many(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Expected counts over each clique; together where that is cheaper."""
        return [self.project(clique) for clique in cliques]

    @abstractmethod
    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Codes of synthetic rows, exactly conditioned on `where`."""

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """A JSON-able description and the arrays that go with it."""


@dataclass(frozen=True)
class Round:
    """One step of an adaptive synthesizer, known from released numbers only."""

    clique: Clique
    sigma: float
    spent: float
    """Share of the budget spent when the round ended, from 0 to 1."""
    change: float = float("nan")
    """How far the model's marginal on this clique moved, in records."""
    cells: int = 0
    """Cells of the junction tree after the round."""
    selection: float = 0.0
    """What choosing the clique cost (ρ)."""
    expected: float = float("nan")
    """Expected error of the measurement itself, in records."""


@dataclass(frozen=True, eq=False)
class PairScores:
    """Released distances of pairs from independence of their columns: L1, in records, with Gaussian noise."""

    pairs: Sequence[Clique]
    values: FloatArray
    sigma: float
    groups: Mapping[str, IntArray]
    """For each column the group of every code: the distances are those of tables summed over groups."""
