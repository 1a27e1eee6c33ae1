"""What the loop needs of its private side, whichever method is behind it."""

from __future__ import annotations

from typing import Protocol

from kagemusha.annotation.weights import Weights
from kagemusha.arrays import Codes
from kagemusha.generators.generator import Round
from kagemusha.generators.markov import MarkovGenerator
from kagemusha.synthesizers.protocol import Fitted


class PrivateRounds(Protocol):
    """Rounds that read the table through the Curator. `done` after the last one; `trace` tells what was measured."""

    trace: list[Round]
    done: bool

    def start(self) -> MarkovGenerator:
        """What is read before the first label."""
        ...

    def go(self, weights: Weights | None) -> MarkovGenerator:
        """One round; `weights` says where the judge is unsure."""
        ...

    def draw(self, rows: int) -> list[Codes]:
        """Doubles of the present model, column by column."""
        ...

    def fitted(self, generator: MarkovGenerator) -> Fitted:
        """The model, and everything that was released on the way."""
        ...
