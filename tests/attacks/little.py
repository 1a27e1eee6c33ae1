"""A little table to play over, and synthesizers whose faults are known."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kagemusha.attacks.synthesis.method import CodeSampler, Method
from kagemusha.attacks.table import GameTable, PlayedDoubles, World
from kagemusha.attacks.targets import Mahalanobis
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema

SCHEMA = Schema(
    [
        Category("a", categories=("x", "y", "z"), out_of_domain="clip"),
        Category("b", categories=("u", "v"), out_of_domain="clip"),
        Integer("n", lower=0, upper=9),
        Integer("m", lower=0, upper=4, missing=True),
    ]
)


def little(rows: int = 120, seed: int = 3) -> GameTable:
    """Most people are alike; one alone has z, nine and four."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [rng.integers(0, 2, rows), rng.integers(0, 2, rows), rng.binomial(6, 0.5, rows), rng.choice([0, 1, 2, 5], rows)]
    )
    codes[17] = (2, 1, 9, 4)
    return GameTable(SCHEMA, codes.astype(np.int32))


class _Drawn:
    def __init__(self, world: World, copied: bool, counted: bool) -> None:
        self.world, self.copied, self.counted = world, copied, counted

    def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
        rows = self.world.rows if self.counted else rows
        codes = np.column_stack([rng.integers(0, size, rows) for size in (2, 2, 7, 3)])
        if self.copied:
            table = GameTable(self.world.table.schema, self.world.codes)
            codes[0] = table.codes[int(np.argmax(Mahalanobis(table).of_rows()))]
        return PlayedDoubles(codes=codes.astype(np.int32))


@dataclass(frozen=True)
class Drawn:
    """Draws rows at random whatever it was shown; with a fault, if asked for one."""

    copied: bool = False
    counted: bool = False
    slow: float = 0.0
    name: str = "drawn"
    exact: bool = False
    promised: Budget | None = None

    def settings(self) -> dict[str, Any]:
        return {"copied": self.copied, "counted": self.counted}

    def fit(self, world: World, *, rng: np.random.Generator) -> _Drawn:
        time.sleep(self.slow)
        return _Drawn(world, self.copied, self.counted)


@dataclass(frozen=True)
class Domain:
    """Our `independent`, with the domain declared or taken from the data."""

    domain: str = "declared"
    method: Method = field(init=False)
    exact: bool = False
    promised: Budget | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", Method("independent", Budget(1.0, 1e-6), domain=self.domain))

    @property
    def name(self) -> str:
        return f"independent-{self.domain}"

    def settings(self) -> dict[str, Any]:
        return self.method.settings()

    def fit(self, world: World, *, rng: np.random.Generator) -> CodeSampler:
        return self.method.fit(world, rng=rng)
