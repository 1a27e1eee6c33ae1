"""A method of the registry in a game: simulated noise, no ledger, codes in and codes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.attacks.scratch import scratch_release
from kagemusha.attacks.table import Coarse, GameTable, PlayedDoubles, SameTable, World, WorldKey
from kagemusha.errors import UsageError
from kagemusha.generators.generator import Generator
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.graphical.sampling import sample_iid
from kagemusha.privacy.budget import Budget
from kagemusha.release.curator import Curator
from kagemusha.schema import Category, Schema
from kagemusha.sources.codes import KEPT_CELLS, CodesSource
from kagemusha.sources.protocol import Source
from kagemusha.synthesizers.registry import create

EXACT = ("bayes-net", "stat")
"""Methods whose fit draws nothing at random, so that all trainings on one table give one model."""


@dataclass(frozen=True, eq=False)
class CodeSampler:
    """A generator whose codes are led back to those of the table."""

    generator: Generator
    coarse: Coarse | None = None
    back: tuple[IntArray, ...] = ()
    """For each column the table's code of every code of the generator, where the domain was another one."""
    independent: bool = False

    def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
        """Synthetic rows as codes."""
        if self.independent and isinstance(self.generator, MarkovGenerator):
            shown = len(self.generator.domain)
            codes = sample_iid(self.generator.field, rows, rng=rng)[:, :shown]
        else:
            codes = self.generator.sample(rows, rng=rng)
        if self.back:
            codes = np.column_stack([lookup[codes[:, i]] for i, lookup in enumerate(self.back)])
        if self.coarse is not None:
            codes = self.coarse.up(codes, rng)
        return PlayedDoubles(codes=codes.astype(np.int32))


@dataclass(frozen=True)
class Method:
    """A synthesizer by name. `schema` may have wider bins than the table; `domain` is "declared" or "data".

    With `domain="data"` each world's own categories and bounds are the domain, as careless tools have it. With
    `independent` rows of graphical models are drawn one by one, as most tools do, instead of next to the model's
    expected counts.
    """

    method: str
    budget: Budget = field(default_factory=lambda: Budget(1.0, 1e-9))
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    domain: str = "declared"
    independent: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        if self.domain not in ("declared", "data"):
            raise UsageError(f"domain must be 'declared' or 'data', got {self.domain!r}")
        create(self.method, **self.options)

    def __hash__(self) -> int:
        return hash((self.method, self.name))

    @property
    def name(self) -> str:
        """The method's name, or the label it was given."""
        return self.label or self.method

    @property
    def exact(self) -> bool:
        """Whether a fit draws nothing at random."""
        return self.method in EXACT

    @property
    def promised(self) -> Budget | None:
        """The promise, if there is one: none without protection, and none for a domain taken from the data."""
        private = create(self.method, **self.options).private and self.domain == "declared"
        return self.budget if private else None

    def settings(self) -> dict[str, Any]:
        """Everything that changes results."""
        return {
            "method": self.method,
            "budget": self.budget.in_words(),
            "options": {key: repr(value) for key, value in self.options.items()},
            "schema": None if self.schema is None else self.schema.digest(),
            "domain": self.domain,
            "independent": self.independent,
        }

    def fit(self, world: World, *, rng: np.random.Generator) -> CodeSampler:
        """One training with simulated noise."""
        coarse = None if self.schema is None else _coarse(SameTable(world.table), self.schema)[1]
        source = _source(SameTable(world.table), world.key, self.schema, self.domain)
        back = _back(SameTable(world.table), world.key, self.schema) if self.domain == "data" else ()
        if self.method in EXACT:
            same = SameTable(world.table)
            generator = _exact_fit(same, world.key, self.schema, self.domain, self.method, tuple(self.options.items()))
            return CodeSampler(generator, coarse, back, self.independent)
        synthesizer = create(self.method, **self.options)
        with scratch_release(synthesizer, source.schema, self.budget, rng) as release:
            fitted = synthesizer.build(Curator(source, release))
        return CodeSampler(fitted.generator, coarse, back, self.independent)


@lru_cache(maxsize=16)
def _exact_fit(
    same: SameTable,
    key: WorldKey,
    schema: Schema | None,
    domain: str,
    method: str,
    options: tuple[tuple[str, Any], ...],
) -> Generator:
    """A fit without chance is the same every time: once in each process is enough."""
    synthesizer = create(method, **dict(options))
    source = _source(same, key, schema, domain)
    with scratch_release(synthesizer, source.schema, Budget(1.0), np.random.default_rng(0)) as release:
        return synthesizer.build(Curator(source, release)).generator


@lru_cache(maxsize=4)
def _coarse(same: SameTable, schema: Schema) -> tuple[GameTable, Coarse]:
    coarse = Coarse(same.table.schema, schema)
    return GameTable(schema, coarse.down(same.table.codes).astype(np.int32)), coarse


def _world(same: SameTable, key: WorldKey, schema: Schema | None) -> World:
    world = World(same.table, *key)
    if schema is None:
        return world
    table, coarse = _coarse(same, schema)
    return world.over(table, coarse)


@lru_cache(maxsize=16)
def _source(same: SameTable, key: WorldKey, schema: Schema | None, domain: str) -> Source:
    world = _world(same, key, schema)
    if domain == "declared":
        return world.source
    there = _present(world)
    found = []
    for column, codes in zip(world.table.schema.modelled, there, strict=True):
        labels = tuple(f"v{code}" for code in codes)
        found.append(Category(column.name, categories=labels, out_of_domain="clip"))
    rows = np.column_stack([np.searchsorted(codes, world.codes[:, i]) for i, codes in enumerate(there)])
    return CodesSource(Schema(found), rows.T, remember=KEPT_CELLS // 4)


@lru_cache(maxsize=16)
def _back(same: SameTable, key: WorldKey, schema: Schema | None) -> tuple[IntArray, ...]:
    return _present(_world(same, key, schema))


def _present(world: World) -> tuple[IntArray, ...]:
    """The codes a world's own table would be given as domain.

    Labels that occur, numbers from the least to the largest.
    """
    found = []
    for i, column in enumerate(world.table.schema.modelled):
        codes = np.unique(world.codes[:, i]).astype(np.int64)
        if column.axis is not None and column.size == column.n_values:
            codes = np.arange(codes[0], codes[-1] + 1)
        found.append(codes)
    return tuple(found)
