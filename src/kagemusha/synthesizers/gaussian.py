"""STAT: mean and covariance, then a multivariate normal. With noise (`gaussian`) and, for attack games, without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.generators.normal import NormalGenerator, Place
from kagemusha.marginals import nearest_counts
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.generation.gaussian import GaussianGeneration
from kagemusha.progress import Progress, silent
from kagemusha.queries.moments import UNIT, CrossMoments, FirstMoments
from kagemusha.queries.scores import NoisyVector
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import Features, features_of
from kagemusha.synthesizers.candidates import COUNTED_CELLS
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

MOST_FEATURES = 4000
"""The covariance is a dense square of this side at most (128 MB)."""

QUIET = 2.0
"""A covariance smaller than so many standard deviations of its noise is taken for noise."""


@dataclass(frozen=True, kw_only=True)
class Gaussian(Synthesizer):
    """Noisy sums and products of features, made a mean and a covariance, then a multivariate normal.

    Columns of labels become one-hot features and come back as the largest score; measured columns lie between −1
    and 1, are clipped to their bounds and rounded to a bin; missing values are a feature of their own. `means` is
    the share of the budget for the first moments; the products get the rest. All noise is Gaussian and fixed in
    advance, so Gaussian DP holds the budget.
    """

    name: ClassVar[str] = "gaussian"
    summary: ClassVar[str] = "STAT with noise: private mean and covariance, then a multivariate normal"
    accounting: ClassVar[Accounting] = Accounting.GDP

    means: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.means < 1:
            raise UsageError(f"means must lie between 0 and 1, got {self.means}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Two vectors of sums with Gaussian noise."""
        require_features(curator.domain)
        features = features_of(curator.schema)
        pairs = len(features) > 1
        progress("measuring sums", 0.1)
        (first,) = curator.answer([FirstMoments(features)], (self.means if pairs else 1.0) * curator.total)
        progress("measuring products", 0.3)
        (cross,) = (
            curator.answer([CrossMoments(features)], curator.remaining) if pairs else [NoisyVector(np.zeros(0), 0.0)]
        )
        progress("fitting", 0.8)
        noisy = (first.values, cross.values)
        return Fitted(normal(curator.domain, features, *noisy, noise=cross.sigma, rows=curator.public_rows()))

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """One covariance."""
        width = require_features(domain)
        shares = [("sums", self.means), ("products", 1 - self.means)] if len(domain) > 1 else [("sums", 1.0)]
        return Plan(shares, max(1, width * width), 1.0 + 3e-9 * width**3 + 3e-5 * _counted(domain))


@dataclass(frozen=True, kw_only=True)
class Stat(Synthesizer):
    """The attack paper's STAT: exact mean and covariance. It protects nobody.

    Drawing rows from a normal distribution is random in itself. With `eigenvalue` (the smallest eigenvalue of every
    possible table's covariance) and `rows` (the fewest rows it can have) declared, the certificate tells what that
    randomness alone would be worth; it still says ε = ∞, because the model file holds the exact moments.
    """

    name: ClassVar[str] = "stat"
    summary: ClassVar[str] = "STAT without protection: exact mean and covariance, for attack games"
    private: ClassVar[bool] = False

    eigenvalue: float | None = None
    rows: int | None = None
    released: int | None = None

    def remarks(self, domain: Domain, budget: Budget) -> Sequence[str]:
        """The value of generation randomness, with the assumption it depends on."""
        if self.eigenvalue is None or self.rows is None:
            return ()
        generation = GaussianGeneration(
            n=self.rows,
            d=len(domain),
            sigma=self.eigenvalue,
            m=self.released or self.rows,
            adjacency=budget.adjacency,
        )
        delta = budget.delta or 1e-9
        epsilon, order = generation.epsilon(delta)
        return (
            f"Not part of the guarantee: if all {len(domain)} columns were numbers in [-1, 1] and only the "
            f"{generation.m:,} rows were released, never the model or its moments, then drawing them would by itself "
            f"be worth ε = {epsilon:.4g} at δ = {delta:g} (Rényi order {order:.3g}). {generation.assumption()}",
        )

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Exact sums."""
        require_features(curator.domain)
        features = features_of(curator.schema)
        table = curator.unprotected("stat publishes the exact mean and covariance, without noise")
        queries = FirstMoments(features), CrossMoments(features)
        first, cross = (q.values(table.count(q.cliques())).astype(np.float64) * UNIT for q in queries)
        progress("done", 1.0)
        return Fitted(normal(curator.domain, features, first, cross))

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        width = require_features(domain)
        return Plan([], max(1, width * width), 1.0 + 3e-9 * width**3)


def require_features(domain: Domain) -> int:
    """The largest number of features the domain may have; too many, or too large pairs, are an error up front."""
    width = sum(domain.sizes)
    if width > MOST_FEATURES:
        widest = max(domain.names, key=domain.size)
        raise ModelTooLarge(
            f"a covariance over {width:,} features is more than the {MOST_FEATURES:,} allowed; the widest column, "
            f"{widest!r}, has {domain.size(widest):,} codes. Use coarser bins or fewer categories"
        )
    if _counted(domain) > COUNTED_CELLS:
        raise ModelTooLarge(
            f"the products of all pairs of columns are counted over {_counted(domain):,} cells and the limit is "
            f"{COUNTED_CELLS:,}. Use coarser bins, fewer categories or fewer columns"
        )
    return width


def _counted(domain: Domain) -> int:
    return sum(a * b for a, b in combinations(domain.sizes, 2))


def normal(
    domain: Domain,
    features: Sequence[Features],
    first: FloatArray,
    cross: FloatArray,
    *,
    noise: float = 0.0,
    rows: int | None = None,
) -> NormalGenerator:
    """The normal distribution with these (noisy) moments, its covariance made positive semidefinite."""
    total = max(1.0, float(first[0]) if rows is None else float(rows))
    means: list[FloatArray] = []
    blocks: list[FloatArray] = []
    at = 1
    for feature in features:
        width = feature.statistics.shape[1]
        mean, block = _column(feature, first[at : at + width], total)
        means.append(mean)
        blocks.append(block)
        at += width
    covariance = _assemble(means, blocks, cross / total, QUIET * noise / total)
    return NormalGenerator(domain, total, [Place.of(f) for f in features], np.concatenate(means), _factor(covariance))


def _column(feature: Features, sums: FloatArray, total: float) -> tuple[FloatArray, FloatArray]:
    """A column's mean and covariance, made possible ones."""
    if feature.labelled:
        mean = nearest_counts(sums, total) / total
        return mean, np.diag(mean) - np.outer(mean, mean)
    place = float(np.clip(sums[0] / total, -1, 1))
    spread = float(np.clip(sums[-1] / total, place**2, 1)) - place**2
    if len(sums) == 2:
        return np.array([place]), np.array([[spread]])
    gone = np.clip(sums[1:-1] / total, 0, 1)
    gone = gone / max(1.0, float(gone.sum()))
    mean = np.concatenate([[place], gone])
    # missing and special values have place 0 and exclude each other, so no two of the features ever occur together
    return mean, np.diag(np.concatenate([[spread + place**2], gone])) - np.outer(mean, mean)


def _assemble(means: Sequence[FloatArray], blocks: Sequence[FloatArray], cross: FloatArray, quiet: float) -> FloatArray:
    starts = np.cumsum([0, *map(len, means)])
    covariance = np.zeros((starts[-1], starts[-1]))
    for i, block in enumerate(blocks):
        covariance[starts[i] : starts[i + 1], starts[i] : starts[i + 1]] = block
    at = 0
    for i, j in combinations(range(len(means)), 2):
        shape = len(means[i]), len(means[j])
        product = cross[at : at + shape[0] * shape[1]].reshape(shape) - np.outer(means[i], means[j])
        product[np.abs(product) <= quiet] = 0.0
        covariance[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = product
        covariance[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = product.T
        at += product.size
    return covariance


def _factor(covariance: FloatArray) -> FloatArray:
    """F with F·Fᵀ the nearest positive semidefinite matrix (in correlations), the variances kept as they are."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 1e-9)
    values, vectors = np.linalg.eigh(covariance * np.outer(inverse, inverse))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    length = np.sqrt((root**2).sum(axis=1, keepdims=True))
    factor: FloatArray = np.divide(root, length, out=np.zeros_like(root), where=length > 1e-9) * scale[:, None]
    return factor
