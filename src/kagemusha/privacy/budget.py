"""What the custodian is willing to promise: (ε, δ) to whom."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kagemusha.errors import UsageError
from kagemusha.privacy.unit import Adjacency, PrivacyUnit


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) promise.

    `epsilon` is a positive number (infinity only for methods without protection), `delta` lies in [0, 1);
    δ = 0 asks for pure differential privacy, which only Laplace and exponential mechanisms can give. `rows` is how
    many rows of one person the promise covers; a release takes it from the schema.
    """

    epsilon: float
    delta: float = 1e-9
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, int | float) and self.epsilon > 0):
            raise UsageError(f"epsilon must be greater than 0, got {self.epsilon}")
        if not (isinstance(self.delta, int | float) and 0 <= self.delta < 1):
            raise UsageError(f"delta must be at least 0 and less than 1, got {self.delta}")
        if self.delta and self.delta < 1e-15:
            raise UsageError(f"delta must be 0 or at least 1e-15, got {self.delta}")
        object.__setattr__(self, "adjacency", self.unit.relation)

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return PrivacyUnit(self.adjacency, self.rows)

    @property
    def is_finite(self) -> bool:
        """False for ε = ∞: no promise at all."""
        return math.isfinite(self.epsilon)

    def in_words(self) -> str:
        """The promise as a short phrase."""
        epsilon = f"{self.epsilon:g}" if self.is_finite else "∞"
        whom = "" if self.rows == 1 else f", for persons of up to {self.rows} rows"
        return f"ε = {epsilon}, δ = {self.delta:g}, {self.adjacency} adjacency{whom}"
