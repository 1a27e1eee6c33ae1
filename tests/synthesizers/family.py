"""Tiny tables and an instrumented run, shared by the tests of the AIM family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import Event
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.release.curator import Curator
from kagemusha.release.release import Release
from kagemusha.schema import Category, Schema
from kagemusha.schema.domain import Clique, Domain
from kagemusha.synthesizers.protocol import Fitted, Synthesizer


def table(domain: Domain, rows: int, seed: int, strength: float = 0.7) -> np.ndarray:
    """Codes whose columns follow one hidden number, so that every pair depends on the other."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    mixed = [np.where(rng.random(rows) < strength, hidden, rng.random(rows)) for _ in domain]
    return np.stack(
        [np.minimum((m**1.5 * n).astype(np.int64), n - 1) for m, n in zip(mixed, domain.sizes, strict=True)], 1
    )


@dataclass
class Read:
    """One call of `count` and what had been charged by then."""

    cliques: tuple[Clique, ...]
    charged: int


@dataclass
class Spy:
    """A source that notes every read together with the number of events charged before it."""

    domain: Domain
    codes: np.ndarray
    charged: list[Event]
    reads: list[Read] = field(default_factory=list)

    @property
    def schema(self) -> Schema:
        """Labels without order or trees, as many as the domain has codes."""
        return Schema(
            [
                Category(name, categories=tuple(map(str, range(size))), out_of_domain="clip")
                for name, size in zip(self.domain.names, self.domain.sizes, strict=True)
            ]
        )

    def count(self, cliques: Sequence[Clique]) -> list[Marginal]:
        self.reads.append(Read(tuple(cliques), len(self.charged)))
        return [self._marginal(clique) for clique in cliques]

    def _marginal(self, clique: Clique) -> Marginal:
        shape = self.domain.shape(clique)
        flat = np.ravel_multi_index(tuple(self.codes[:, self.domain.axis(name)] for name in clique), shape)
        return Marginal(clique, np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64))

    def rows(self) -> int:
        return len(self.codes)

    def poisson(self, rate: float, *, rng: np.random.Generator) -> np.ndarray:
        raise AssertionError("the AIM family needs no batches")

    def native_like(self) -> str:
        return "pyarrow"


class Book:
    """A ledger in memory that stores answers, so that a second run can replay the first."""

    def __init__(self, charged: list[Event]) -> None:
        self.charged = charged
        self.answers: dict[str, bytes] = {}

    def open_release(self, request: ReleaseRequest) -> Any:
        return SimpleNamespace(id="r")

    def charge(self, release: str, steps: Sequence[tuple[str, Event, Any]]) -> None:
        self.charged += [event for _, event, _ in steps]

    def answer(self, release: str, key: str) -> bytes | None:
        return self.answers.get(key)

    def publish(self, release: str, answers: Mapping[str, bytes]) -> dict[str, bytes]:
        self.answers.update(answers)
        return dict(answers)


@dataclass
class Run:
    """An instrumented run."""

    curator: Curator
    spy: Spy
    book: Book
    budget_filter: Filter
    fitted: Fitted


def run(
    synthesizer: Synthesizer, domain: Domain, codes: np.ndarray, budget: Budget, seed: int = 0, book: Book | None = None
) -> Run:
    charged: list[Event] = []
    book = book or Book(charged)
    book.charged = charged
    spy = Spy(domain, codes, charged)
    budget_filter = Filter(budget, synthesizer.accounting)
    noise = SimulatedNoise(np.random.default_rng(seed))
    request = ReleaseRequest("d", synthesizer.name, budget, synthesizer.accounting)
    curator = Curator(spy, Release(request, budget_filter, book, noise), keep=0)  # type: ignore[arg-type]
    return Run(curator, spy, book, budget_filter, synthesizer.build(curator))
