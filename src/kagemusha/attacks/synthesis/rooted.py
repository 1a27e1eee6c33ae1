"""The attack paper's network as a training that draws something at random: the column it begins with.

DataSynthesizer, a PrivBayes often used, begins so. Everything else about its structure is greedy, and follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kagemusha.attacks.synthesis.method import CodeSampler, Method
from kagemusha.attacks.table import World
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Schema


@dataclass(frozen=True)
class RandomRoot:
    """`bayes-net` from a root drawn anew for every training. It protects nobody."""

    schema: Schema
    name: str = "bayes-net-root"
    exact: bool = False
    promised: Budget | None = None

    def settings(self) -> dict[str, Any]:
        """The network's, and that its root is drawn."""
        return {**self._from("").settings(), "root": "random"}

    def fit(self, world: World, *, rng: np.random.Generator) -> CodeSampler:
        """One training."""
        return self._from(str(rng.choice(world.table.schema.domain.names))).fit(world, rng=rng)

    def _from(self, root: str) -> Method:
        return Method("bayes-net", options={"root": root}, schema=self.schema, independent=True)
