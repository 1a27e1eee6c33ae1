"""Variational autoencoders trained as a whole: with noise (`dp-vae`) and without (`vae`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.errors import UsageError
from kagemusha.generators.decoders import Decoder, DecoderGenerator
from kagemusha.generators.normal import Place
from kagemusha.neural.learners import Variational
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import Event
from kagemusha.progress import Progress, part, silent
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.deep.asking import Asking, Bare, PaidAsking
from kagemusha.synthesizers.deep.options import TRAINING, Choices, matrices_of
from kagemusha.synthesizers.deep.spending import GaussianStep, Spending
from kagemusha.synthesizers.protocol import Fitted, Plan


@dataclass(frozen=True, kw_only=True)
class Autoencoder(Choices):
    """A VAE over the features of all columns; labels are trained along.

    `count` is the share of ρ for the number of rows.
    """

    latent: int = 20
    count: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.latent < 1:
            raise UsageError(f"latent must be at least 1, got {self.latent}")
        if not 0 < self.count < 0.5:
            raise UsageError(f"count must be greater than 0 and less than 0.5, got {self.count}")

    def spending(self, budget: Budget) -> Spending:
        """A count, then training."""
        return Spending([GaussianStep("number of rows", 1, self.count)], self.training, budget)

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        return self.spending(budget).events(TRAINING)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Shares and time from the declared domain alone."""
        width = self.require(domain, budget)
        steps = [("number of rows", self.count), (f"training, {self.training.steps:,} steps", 1 - self.count)]
        return Plan(steps, 2 * self.hidden * (width + 2 * self.latent), self.seconds(width))

    def learn(self, asking: Asking, curator: Curator, spending: Spending | None, progress: Progress) -> Fitted:
        """Train and take the decoder."""
        domain, inputs = curator.domain, self.inputs(curator)
        rows = asking.size(1.0 if spending is None else spending.cost(self.count))
        learner = Variational(inputs, self.latent, self.hidden, self.step)
        schedule = self.schedule_of(spending, rows)
        asking.train(schedule, learner, what=TRAINING, progress=part(progress, 0.02, 1.0))
        decoder = standard(matrices_of(learner.decoder, learner.decoder_parameters()), self.latent)
        return Fitted(
            DecoderGenerator(
                domain, rows, [Place.of(f) for f in inputs.features], None, self.drawn, np.ones(1), [decoder]
            )
        )


def standard(matrices: Sequence[np.ndarray[tuple[int, int], np.dtype[np.float64]]], latent: int) -> Decoder:
    """A decoder of standard normal codes."""
    return Decoder(np.ones(1), np.zeros((1, latent)), np.eye(latent)[None], matrices)


@dataclass(frozen=True, kw_only=True)
class DPVAE(Autoencoder):
    """A VAE by DP-SGD, encoder and all."""

    name: ClassVar[str] = "dp-vae"
    summary: ClassVar[str] = "a variational autoencoder trained by DP-SGD"
    accounting: ClassVar[Accounting] = Accounting.SCHEDULE
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_REMOVE,)

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """A count, then training."""
        return self.learn(PaidAsking(curator), curator, self.spending(curator.budget), progress)


@dataclass(frozen=True, kw_only=True)
class VAE(Autoencoder):
    """A VAE without noise. Not private."""

    name: ClassVar[str] = "vae"
    summary: ClassVar[str] = "a variational autoencoder without noise: a baseline, not private"
    private: ClassVar[bool] = False

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        """Nothing is promised."""
        return ()

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """From the table itself."""
        return self.learn(Bare(curator.unprotected("vae trains its networks without noise")), curator, None, progress)
