"""P3GM: an embedding released as sums, then a decoder trained on samples.

And its siblings without variance or noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import UsageError
from kagemusha.generators.decoders import Decoder, DecoderGenerator
from kagemusha.generators.normal import Place
from kagemusha.neural.learners import Phased
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import Event
from kagemusha.progress import Progress, part, silent
from kagemusha.ranges import at_least, between
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.deep.asking import Asking, Bare, PaidAsking, WishartPCA
from kagemusha.synthesizers.deep.embedding import Embedding, embed
from kagemusha.synthesizers.deep.options import TRAINING, Choices, feature_width, matrices_of, require_target
from kagemusha.synthesizers.deep.spending import Spending, TrainingPlan
from kagemusha.synthesizers.protocol import Fitted, Plan


@dataclass(frozen=True, kw_only=True)
class Phases(Choices):
    """What P3GM, AE and PGM share.

    `latent` is d′, `components` the number of Gaussians, `iterations` those of EM. With a `target` the
    components are the codes of that column, and the decoder is given that code; with `conditional=False`, and without a
    target, all columns are trained along, as in the paper. The decoder's `start` is the way back from the projection,
    or cold: near a constant, as in the paper. `centre`, `pca`, `em` are the shares of ρ for mean record and lengths,
    PCA and EM; training takes the rest.
    """

    variance: ClassVar[bool] = True
    released_pca: ClassVar[bool] = True

    latent: int = 20
    components: int = 1
    iterations: int = 5
    covariance: Literal["diagonal", "full"] = "full"
    target: str | None = None
    conditional: bool = True
    start: Literal["linear", "cold"] = "linear"
    centre: float = 0.03
    pca: float = 0.15
    em: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, latent=self.latent, components=self.components, iterations=self.iterations)
        between(0, 1, centre=self.centre, pca=self.pca, em=self.em)
        if self.centre + self.pca + self.em >= 0.95:
            raise UsageError("centre, pca and em together must leave at least 0.05 for training")

    def embedding(self, domain: Domain) -> Embedding:
        """The first phase's choices."""
        known = self.conditional and self.target is not None
        return Embedding(
            min(self.latent, feature_width(domain, self._left_out)),
            domain.size(str(self.target)) if known else self.components,
            1 if known else self.iterations,
            self.covariance,
            self.centre,
            self.pca,
            self.em,
            self.released_pca,
        )

    @property
    def _left_out(self) -> str | None:
        return self.target if self.conditional else None

    def spending(self, domain: Domain, budget: Budget) -> Spending:
        """All steps and their costs."""
        return Spending(self.embedding(domain).steps(), TrainingPlan(self.rate, self.epochs, self.clip), budget)

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        """Mean, lengths, PCA, EM, then training."""
        return self.spending(domain, budget).events(TRAINING)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Shares and time from the declared domain alone."""
        width = self.require(domain, budget)
        steps = [("mean record and lengths", self.centre), ("PCA", self.pca), ("EM", self.em)]
        rest = 1 - self.centre - self.pca - self.em
        cells = 2 * self.hidden * (width + self.latent) + width * width
        return Plan([*steps, (f"training, {self.training.steps:,} steps", rest)], cells, self.seconds(width))

    def require(self, domain: Domain, budget: Budget) -> int:
        require_target(domain, self.target)
        return super().require(domain, budget)

    def learn(
        self, asking: Asking, curator: Curator, rho: float, spending: Spending | None, progress: Progress
    ) -> Fitted:
        """Both phases."""
        domain, inputs = curator.domain, self.inputs(curator, self._left_out)
        class_axis = None if self._left_out is None else domain.axis(self._left_out)
        phase, rows = embed(
            asking,
            self.embedding(domain),
            rho,
            inputs.features,
            inputs.axes,
            part(progress, 0.0, 0.2),
            class_axis=class_axis,
        )
        cold = self.start == "cold"
        learner = Phased(
            inputs, phase, self.hidden, self.step, variance=self.variance, class_axis=class_axis, cold=cold
        )
        schedule = self.schedule_of(spending, rows)
        asking.train(schedule, learner, what=TRAINING, progress=part(progress, 0.2, 1.0))
        mixture = phase.mixture
        decoder = Decoder(
            mixture.weights, mixture.means, mixture.factors, matrices_of(learner.decoder, learner.decoder_parameters())
        )
        places = [Place.of(f) for f in inputs.features]
        one: FloatArray = np.ones(1)
        return Fitted(DecoderGenerator(domain, rows, places, self._left_out, self.drawn, one, [decoder]))


@dataclass(frozen=True, kw_only=True)
class P3GM(Phases):
    """The phased private generative model (Takagi et al. 2021), with its privacy mended."""

    name: ClassVar[str] = "p3gm"
    summary: ClassVar[str] = "private PCA and mixture, then a decoder and code variances by DP-SGD"
    accounting: ClassVar[Accounting] = Accounting.SCHEDULE
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_REMOVE,)

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Sums first, then training."""
        spending = self.spending(curator.domain, curator.budget)
        return self.learn(PaidAsking(curator), curator, spending.rho, spending, progress)


@dataclass(frozen=True, kw_only=True)
class AE(P3GM):
    """P3GM with code variance zero and no KL: learns fastest, for tight budgets."""

    name: ClassVar[str] = "ae"
    summary: ClassVar[str] = "P3GM without code variances: private PCA and mixture, then a decoder by DP-SGD"
    variance: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class P3GMWishart(P3GM):
    """P3GM with the paper's Wishart noise on PCA, which protects nobody. For comparison alone."""

    name: ClassVar[str] = "p3gm-wishart"
    summary: ClassVar[str] = "P3GM with the paper's Wishart noise: for comparison, not private"
    private: ClassVar[bool] = False
    released_pca: ClassVar[bool] = False

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """As P3GM, with a read that has no protection."""
        spending = self.spending(curator.domain, curator.budget)
        return self.learn(WishartPCA(curator), curator, spending.rho, spending, progress)


@dataclass(frozen=True, kw_only=True)
class PGM(Phases):
    """P3GM without noise: what its phases can do at best. Not private."""

    name: ClassVar[str] = "pgm"
    summary: ClassVar[str] = "P3GM's phases without noise: a baseline, not private"
    private: ClassVar[bool] = False

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        """Nothing is promised."""
        return ()

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """From the table itself."""
        asking = Bare(curator.unprotected("pgm trains its networks without noise"))
        return self.learn(asking, curator, 1.0, None, progress)
