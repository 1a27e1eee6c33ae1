"""What a synthesizer and a generator are.

A synthesizer is a frozen set of choices. `build` turns what it learns through the Curator into a generator, which
knows no private data and can be sampled, asked for marginals and written to a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.release.curator import Curator
from kagemusha.release.interactions import NoisyInteraction
from kagemusha.schema.domain import Clique, Domain

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of all work done so far, from 0 to 1."""

Arrays = Mapping[str, np.ndarray[Any, Any]]

Evidence = Mapping[Clique, FloatArray]
"""For some cliques, how likely each combination is to fulfil a condition, from 0 to 1."""


def silent(what: str, done: float) -> None:
    """A progress listener that says nothing."""


def part(progress: Progress, start: float, end: float) -> Progress:
    """A listener for one part of the work, which lies between these shares of the whole."""
    return lambda what, done: progress(what, start + (end - start) * done)


class Generator(Protocol):
    """A fitted distribution over codes; everything about it may be published."""

    kind: ClassVar[str]

    @property
    def domain(self) -> Domain:
        """The domain of the codes."""
        ...

    @property
    def total(self) -> float:
        """The estimated (or public) number of records."""
        ...

    def project(self, clique: Clique) -> FloatArray:
        """Expected counts over a clique, for `total` records."""
        ...

    def sample(self, rows: int, *, rng: np.random.Generator, where: Evidence | None = None) -> IntArray:
        """Codes of synthetic rows, exactly conditioned on `where`."""
        ...

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """A JSON-able description and the arrays that go with it."""
        ...


@dataclass(frozen=True)
class Round:
    """One step of an adaptive synthesizer, told from released numbers only."""

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


@dataclass(frozen=True, eq=False)
class Fitted:
    """What `build` hands back: the generator and what it was made from, all of it released."""

    generator: Generator
    measurements: Sequence[NoisyMarginal] = ()
    trace: Sequence[Round] = field(default_factory=tuple)
    interactions: Sequence[NoisyInteraction] = ()
    scores: PairScores | None = None
    ceilings: Mapping[Clique, float] = field(default_factory=dict)
    """The most that the generator's L1 error over a clique can be, in records, as far as the choices tell."""


@dataclass(frozen=True)
class Cost:
    """What a fit will need, told from the declared domain alone."""

    steps: Sequence[tuple[str, float]]
    """What the budget is spent on, and its share."""
    cells: int
    """Largest model the fit may build."""
    seconds: float
    """About the longest the fit may take; tables whose columns hardly depend on each other take far less."""
    error: float | None = None
    """Expected mean error of two-way marginals (share of records), where it can be told."""
    candidates: int = 0
    """Marginals a round may choose from."""
    largest: Clique = ()
    """The largest of them."""

    @property
    def megabytes(self) -> float:
        """Rough peak memory of the model."""
        return self.cells * 8 * 6 / 1e6


class Synthesizer(ABC):
    """Base of all synthesizers: frozen, keyword-only dataclasses of public choices."""

    name: ClassVar[str]
    summary: ClassVar[str]
    accounting: ClassVar[Accounting] = Accounting.ZCDP
    adaptive: ClassVar[bool] = False
    """Whether later steps are chosen after seeing earlier answers."""
    private: ClassVar[bool] = True
    """False for baselines that read the table without protection."""

    @abstractmethod
    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Learn a generator through the Curator; never sees the table."""

    @abstractmethod
    def plan(self, domain: Domain, budget: Budget) -> Cost:
        """What `build` will need; reads no data and spends nothing."""

    def remarks(self, domain: Domain, budget: Budget) -> Sequence[str]:
        """What a certificate should say beside the usual assumptions; nothing for most methods."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """The choices, for the certificate."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]
