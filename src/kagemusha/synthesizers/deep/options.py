"""Options that all deep methods have, and what they do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.neural.inputs import Floats, Inputs
from kagemusha.neural.networks import Network, need_torch
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.ranges import between
from kagemusha.release.curator import Curator
from kagemusha.release.training import TrainingSchedule
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import features_of
from kagemusha.synthesizers.deep.spending import Spending, TrainingPlan
from kagemusha.synthesizers.protocol import Synthesizer

TRAINING = "training on samples"
MOST_FEATURES = 20_000
MOST_HIDDEN = 10_000


@dataclass(frozen=True, kw_only=True)
class Networked(Synthesizer):
    """Networks and training.

    `hidden` is the width of the hidden layers, `rate` how likely a person is in a sample (public: the number of rows is
    not), `epochs` how often a person is in one on average, `clip` the norm of a person's gradient, `step` Adam's step
    size.
    """

    reads_records: ClassVar[bool] = True

    hidden: int = 200
    rate: float = 0.02
    epochs: float = 4.0
    clip: float = 1.0
    step: float = 1e-3

    def __post_init__(self) -> None:
        if not 2 <= self.hidden <= MOST_HIDDEN:
            raise UsageError(f"hidden must be at least 2 and at most {MOST_HIDDEN:,}, got {self.hidden}")
        if not 0 < self.rate <= 1:
            raise UsageError(f"rate must be greater than 0 and at most 1, got {self.rate}")
        between(0, 1_000_000, epochs=self.epochs, clip=self.clip, step=self.step)

    @property
    def training(self) -> TrainingPlan:
        """The public side of training."""
        return TrainingPlan(self.rate, self.epochs, self.clip)

    def schedule_of(self, spending: Spending | None, rows: float) -> TrainingSchedule:
        """The schedule of training for about so many rows; without `spending` there is no noise to speak of."""
        if spending is not None:
            return spending.schedule(self.rate * rows)
        return TrainingSchedule(self.training.steps, self.rate, self.clip, 1.0, max(1.0, self.rate * rows))

    def require(self, domain: Domain, budget: Budget) -> int:
        """Refuse what cannot be done; the number of features."""
        if self.private and budget.adjacency is not Adjacency.ADD_REMOVE:
            raise UsageError(
                f"adjacency must be 'add-remove' for method {self.name!r}: it trains on Poisson samples, and nothing "
                "is known of exchanged persons there"
            )
        if self.private and budget.delta <= 0:
            raise UsageError(f"delta must be greater than 0 for method {self.name!r}")
        if len(domain) > MOST_FEATURES:
            raise ModelTooLarge(f"{len(domain):,} columns are more than the {MOST_FEATURES:,} that {self.name} takes")
        return min(MOST_FEATURES, feature_width(domain))

    def seconds(self, width: int) -> float:
        """About how long training takes, for a table of 50,000 rows."""
        weights = 2 * self.hidden * (width + 50)
        rows = 50_000 * self.rate
        return 3.0 + self.training.steps * weights * (3e-8 + 1.5e-10 * rows) + 3e-9 * width**3


@dataclass(frozen=True, kw_only=True)
class Choices(Networked):
    """Methods with a decoder. `drawn` draws labels from its softmax instead of taking the best."""

    drawn: bool = True

    def inputs(self, curator: Curator, but: str | None = None) -> Inputs:
        """The features of all columns (but one); refuses, before the first question, more than networks can take."""
        features = [f for f in features_of(curator.schema) if f.name != but]
        inputs = Inputs(features, [curator.domain.axis(f.name) for f in features])
        if inputs.width > MOST_FEATURES:
            raise UsageError(f"{inputs.width:,} features are more than the {MOST_FEATURES:,} that {self.name} takes")
        need_torch()
        return inputs


def feature_width(domain: Domain, but: str | None = None) -> int:
    """Features of a domain, at most: numbers have one or two, labels one for each code."""
    return sum(domain.size(name) if domain.size(name) <= 64 else 2 for name in domain if name != but)


def require_target(domain: Domain, target: str | None) -> None:
    """Refuse a target that is no column."""
    if target is not None and target not in domain:
        raise UsageError(f"target: no column named {target!r}; columns are {', '.join(domain.names)}")
    if target is not None and len(domain) < 2:
        raise UsageError("a column beside the target is needed")


def matrices_of(network: Network, parameters: Floats) -> Sequence[FloatArray]:
    """The layers of a trained network, for a generator."""
    return [matrix.astype("float64") for matrix in network.matrices(parameters)]
