"""What a synthesizer and a generator are.

A synthesizer is a frozen set of choices. `build` turns what it learns through the Curator into a generator, which
knows no private data and can be sampled, asked for marginals and written to a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar

from kagemusha.generators.generator import Generator, PairScores, Round
from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import Event
from kagemusha.progress import Progress, silent
from kagemusha.queries.interactions import NoisyInteraction
from kagemusha.release.curator import Curator
from kagemusha.schema import Schema
from kagemusha.schema.domain import Clique, Domain


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
    expected: float | None = None
    """The mean L1 error of pairs that the method itself expects, a share of records; None where it has no idea."""


@dataclass(frozen=True)
class Plan:
    """What a fit will need, derived from the declared domain alone."""

    steps: Sequence[tuple[str, float]]
    """What the budget is spent on, and its share."""
    cells: int
    """Largest model the fit may build."""
    seconds: float
    """About the longest the fit may take; tables whose columns hardly depend on each other take far less."""
    error: float | None = None
    """Expected mean error of two-way marginals (share of records), where it is known."""
    candidates: int = 0
    """Marginals a round may choose from."""
    largest: Clique = ()
    """The largest of them."""
    growing: float = 0.0
    """Of the seconds, those that a model as large as that takes, where noise may keep it smaller."""
    usual: float = 1.0
    """Share of the seconds that half of the tables take at most, on the zoo's training half."""

    @property
    def megabytes(self) -> float:
        """Rough peak memory of the model."""
        return self.cells * 8 * 6 / 1e6


class Synthesizer(ABC):
    """Base of all synthesizers: frozen, keyword-only dataclasses of public choices."""

    name: ClassVar[str] = ""
    summary: ClassVar[str]
    accounting: ClassVar[Accounting] = Accounting.ZCDP
    adaptive: ClassVar[bool] = False
    """Whether later steps are chosen after seeing earlier answers."""
    private: ClassVar[bool] = True
    """False for baselines that read the table without protection."""
    reads_records: ClassVar[bool] = False
    """Whether it needs whole records, as codes, and not counts alone."""
    relations: ClassVar[tuple[Adjacency, ...]] = tuple(Adjacency)
    """The adjacencies it can promise; another is refused with a `UsageError`."""

    @property
    def most_rows(self) -> int | None:
        """The most rows that will be had of it, where rows are all it releases; None for as many as one likes."""
        return None

    @abstractmethod
    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Learn a generator through the Curator; never sees the table."""

    @abstractmethod
    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """What `build` will need; reads no data and spends nothing."""

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        """Everything that `build` will ask, in its order; only for methods whose accounting is `schedule`."""
        return ()

    def counted(self, domain: Domain) -> Sequence[Sequence[Clique]]:
        """The sets of columns that `build` counts, look by look, as far as the domain tells.

        By default columns, then pairs.
        """
        pairs = [pair for pair in combinations(domain.names, 2) if domain.cells(pair) <= 1 << 24]
        return [[(name,) for name in domain.names], pairs]

    def schedule_for(self, schema: Schema, budget: Budget) -> Sequence[Event]:
        """`schedule` for methods whose steps depend on what kind each column is."""
        return self.schedule(schema.domain, budget)

    def aimed(self, schema: Schema) -> Synthesizer:
        """The same method taking care of the schema's target column, if it can and has no target of its own."""
        if schema.target is None or getattr(self, "target", "") is not None:
            return self
        return replace(self, target=schema.target)  # type: ignore[type-var]  # whoever has the option is a dataclass

    def field_cells(self, domain: Domain) -> int:
        """Cells of the largest Markov field that `build` may fit to tables that must be right (`Curator.required`).

        0 for methods that can keep no such table.
        """
        return 0

    def remarks(self, domain: Domain, budget: Budget) -> Sequence[str]:
        """What a certificate should say beside the usual assumptions; nothing for most methods."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """The choices, for the certificate."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]
