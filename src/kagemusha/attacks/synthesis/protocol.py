"""What can be attacked: it fits a world's table and then makes doubles, as often as asked."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kagemusha.attacks.table import PlayedDoubles, World
from kagemusha.privacy.budget import Budget


class Sampler(Protocol):
    """One training's result."""

    def sample(self, rows: int, *, rng: np.random.Generator) -> PlayedDoubles:
        """Synthetic rows.

        A maker that tells by the number of rows whom it saw gives another number than was asked for.
        """
        ...


class Maker(Protocol):
    """A synthesizer in a game. Must be picklable; all its randomness comes from `rng`."""

    @property
    def name(self) -> str:
        """What results are filed under."""
        ...

    @property
    def exact(self) -> bool:
        """Whether a fit draws nothing at random, so that every table drawn is an independent trial."""
        ...

    @property
    def promised(self) -> Budget | None:
        """What it promises about one person; None if nothing."""
        ...

    def fit(self, world: World, *, rng: np.random.Generator) -> Sampler:
        """Train on a world's table."""
        ...

    def settings(self) -> dict[str, Any]:
        """What tells this maker from another one of the same name; JSON-able."""
        ...
