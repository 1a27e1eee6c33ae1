"""DP-GM (after Acs et al. 2018): private kernel k-means, then one autoencoder for each cluster.

Adjacency: add-remove of a person. Clustering: sums of clipped random Fourier features by cluster, Gaussian noise.
Training: the clusters' networks lie side by side in one vector of parameters; a row moves those of its own cluster
alone, and a person's gradient over all clusters is clipped to one norm. So training all of them is *one* sampled
Gaussian mechanism: for persons of one row that is parallel composition, and it holds for persons whose rows lie in
several clusters, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.decoders import DecoderGenerator
from kagemusha.generators.normal import Place
from kagemusha.neural.inputs import Inputs
from kagemusha.neural.learners import Clusters, Variational
from kagemusha.neural.mixture import Mixture
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import Event
from kagemusha.progress import Progress, part, silent
from kagemusha.queries.kernel_vectors import KernelVectors
from kagemusha.queries.mixture_sums import MixtureMeans, MixtureSizes
from kagemusha.ranges import at_least, between
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.synthesizers.deep.asking import PaidAsking
from kagemusha.synthesizers.deep.options import TRAINING, Choices, matrices_of
from kagemusha.synthesizers.deep.spending import GaussianStep, Spending, norm_of
from kagemusha.synthesizers.deep.vae import standard
from kagemusha.synthesizers.protocol import Fitted, Plan

COSINES = 60
SHARP = 1e4
"""The precision of a cluster: so large that a record belongs to the nearest centre alone."""


@dataclass(frozen=True, kw_only=True)
class DPGM(Choices):
    """`clusters` of kernel k-means in `iterations`, for the share `clustering` of ρ, then an autoencoder each."""

    name: ClassVar[str] = "dp-gm"
    summary: ClassVar[str] = "private k-means, then one variational autoencoder a cluster by DP-SGD"
    accounting: ClassVar[Accounting] = Accounting.SCHEDULE
    relations: ClassVar[tuple[Adjacency, ...]] = (Adjacency.ADD_REMOVE,)

    clusters: int = 5
    iterations: int = 4
    clustering: float = 0.2
    latent: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, clusters=self.clusters, iterations=self.iterations, latent=self.latent)
        between(0, 0.95, clustering=self.clustering)

    def spending(self, budget: Budget) -> Spending:
        """Sizes and sums of clusters, several times, then sizes, then training."""
        each = self.clustering / (self.iterations + 0.2)
        steps = []
        for _ in range(self.iterations):
            steps += [
                GaussianStep("sizes", norm_of(MixtureSizes), 0.2 * each),
                GaussianStep("sums", norm_of(MixtureMeans), 0.8 * each),
            ]
        steps.append(GaussianStep("sizes", norm_of(MixtureSizes), 0.2 * each))
        return Spending(steps, self.training, budget)

    def schedule(self, domain: Domain, budget: Budget) -> Sequence[Event]:
        return self.spending(budget).events(TRAINING)

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Shares and time from the declared domain alone."""
        width = self.require(domain, budget)
        rest = 1 - self.clustering
        steps = [("clusters", self.clustering), (f"training, {self.training.steps:,} steps", rest)]
        cells = self.clusters * 2 * self.hidden * (width + 2 * self.latent)
        return Plan(steps, cells, self.seconds(width) * (1 + self.clusters / 4))

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Clusters, then their networks."""
        asking, spending, domain = PaidAsking(curator), self.spending(curator.budget), curator.domain
        inputs = self.inputs(curator)
        vectors = kernel_vectors(inputs)
        prices = iter([spending.cost(step.share) for step in spending.gaussian])
        centres = Mixture.spread(self.clusters, vectors.width).means / math.sqrt(vectors.width)
        for i in range(self.iterations):
            progress(f"clusters, iteration {i + 1}", 0.1 * i / self.iterations)
            step, nearest = f"of clusters, iteration {i + 1}", hard(centres)
            sizes = MixtureSizes(vectors, f"sizes {step}", nearest)
            sums = MixtureMeans(vectors, f"sums {step}", nearest)
            counts, noise = sizes.split(asking.sums(sizes, next(prices)))
            found, _ = sums.split(asking.sums(sums, next(prices)))
            # a cluster as small as its noise stays where it is
            large = counts > 3 * noise + 1
            centres = np.where(large[:, None], found / np.maximum(counts, 1.0)[:, None], centres)
        last = MixtureSizes(vectors, "sizes of clusters", hard(centres))
        counts, noise = last.split(asking.sums(last, next(prices)))
        counts = np.maximum(counts, max(1e-6, noise))
        rows = max(1.0, float(counts.sum()))

        def whose(codes: IntArray) -> IntArray:
            points = clipped(vectors, inputs.of(codes).astype(np.float64))
            return np.asarray(hard(centres).responsibilities(points).argmax(axis=1), dtype=np.int64)

        members = [Variational(inputs, self.latent, self.hidden, self.step, seed=i) for i in range(self.clusters)]
        learner = Clusters(members, whose, self.step)
        # every cluster has about its share of a sample; Adam's steps do not depend on the scale of gradients
        asking.train(self.schedule_of(spending, rows), learner, what=TRAINING, progress=part(progress, 0.1, 1.0))
        decoders = [
            standard(matrices_of(member.decoder, learner.of(i)), self.latent) for i, member in enumerate(members)
        ]
        return Fitted(
            DecoderGenerator(
                domain, rows, [Place.of(f) for f in inputs.features], None, self.drawn, counts / counts.sum(), decoders
            )
        )


def kernel_vectors(inputs: Inputs, cosines: int = COSINES) -> KernelVectors:
    """Random Fourier features of public randomness, at a width of the kernel that suits features between −1 and 1."""
    rng = np.random.default_rng(0)
    scale = 1 / math.sqrt(0.5 * inputs.width)
    return KernelVectors(
        inputs.features,
        inputs.axes,
        radius=np.ones(1),
        directions=scale * rng.standard_normal((inputs.width, cosines)),
        phases=rng.uniform(0, 2 * math.pi, cosines),
    )


def hard(centres: FloatArray) -> Mixture:
    """A mixture so sharp that its responsibilities are 0 or 1: the nearest centre."""
    count, width = centres.shape
    return Mixture(np.full(count, 1 / count), centres, np.tile(np.eye(width) / SHARP, (count, 1, 1)))


def clipped(vectors: KernelVectors, features: FloatArray) -> FloatArray:
    """The vectors of rows as clustering saw them."""
    found = vectors.mapped(features)
    lengths = np.sqrt((found**2).sum(axis=1, keepdims=True))
    return np.asarray(found * np.minimum(1.0, 1 / np.maximum(lengths, 1e-300)))
