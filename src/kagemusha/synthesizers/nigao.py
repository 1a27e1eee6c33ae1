"""Nigao (the likeness): class means, the directions in which records differ from them, and how each class fills those.

For images and tables of many numbers, where tables of codes stop. All of it sums over records, all noise Gaussian, seconds
of CPU, no gradients. The algorithm, with a reason for every constant: docs/algorithms/nigao.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.models.classes import ClassGenerator
from kagemusha.models.normal import Place
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.progress import Progress, silent
from kagemusha.queries.record_sums import ClassSums, NormCounts, Scatter
from kagemusha.queries.record_vectors import LATTICE, Vectors
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import features_of
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

CENTRE, LENGTHS, MEANS, SCATTER = 0.03, 0.01, (0.15, 0.4), 0.34
"""Shares of the budget: the mean record, each of three looks at lengths, class means (more where they drown), directions.
Classes get the rest."""

QUIET = 0.002
"""Class means get their least share if its noise is at most this part of a record's squared length."""

MOST_FEATURES = 3000
MOST_CLASSES = 100

COUNT = LATTICE // 8
"""A record's count beside its vector of LATTICE: counts need far less precision."""

MEAN_QUANTILE, SCATTER_QUANTILE = 0.9, 0.7
"""Which share of records keeps its length: clipping the longest costs less than noise made for them."""

CLASS_QUANTILE = 0.8
"""The same inside a class, along the directions found."""

FILLED = 0.06
"""As many directions as leave the noise of a class covariance below this part of it."""

GRID = 64
"""Cells of a look at lengths."""

FLOOR = 1e-3
"""The least variance of a direction, in that of the first."""


@dataclass(frozen=True, kw_only=True)
class Nigao(Synthesizer):
    """Sums of features, by class: means, then leading directions, then covariances in them.

    `target` is the column whose codes are the classes; without one there is a single class. `directions` is the number of
    leading directions, chosen from released numbers unless given.
    """

    name: ClassVar[str] = "nigao"
    summary: ClassVar[str] = "our own, for images and many numbers: class means, leading directions, class covariances"
    accounting: ClassVar[Accounting] = Accounting.GDP
    adaptive: ClassVar[bool] = True

    target: str | None = None
    directions: int | None = None

    def __post_init__(self) -> None:
        if self.directions is not None and self.directions < 1:
            raise UsageError(f"directions must be at least 1, got {self.directions}")

    def build(self, curator: Curator, *, progress: Progress = silent) -> Fitted:
        """Five looks: the mean record, lengths, class means, directions, classes."""
        schema, domain, budget = curator.schema, curator.domain, curator.total
        self._require(domain)
        features = [f for f in features_of(schema) if f.name != self.target]
        axes = [domain.axis(f.name) for f in features]
        classes = 1 if self.target is None else domain.size(self.target)
        class_axis = None if self.target is None else domain.axis(self.target)
        start = Vectors(features, axes, radius=np.ones(1), classes=classes, class_axis=class_axis)

        progress("the mean record", 0.05)
        whole = replace(start, radius=np.full(1, math.sqrt(start.raw_width)), classes=1, class_axis=None)
        query = ClassSums(whole, "sum of all records", COUNT)
        first = curator.answer([query], CENTRE * budget)[0]
        counts, sums = query.split(first)
        public = curator.public_rows()
        rows = max(1.0, float(counts[0]) if public is None else float(public))
        centre = np.clip(sums / rows, -1, 1)
        known = first.sigma * float(whole.radius[0]) / LATTICE / rows
        share = means_share(start.raw_width, classes, rows, budget)

        progress("class means", 0.15)
        around = replace(start, centre=centre)
        around = replace(around, radius=_radii(curator, around, MEAN_QUANTILE, LENGTHS * budget, together=True))
        by_class = ClassSums(around, "class sizes and sums", COUNT)
        answer = curator.answer([by_class], share * budget)[0]
        counts, sums = by_class.split(answer)
        noise = answer.sigma * float(around.radius[0]) / LATTICE
        sizes = _sizes(counts, rows)
        centre, apart = _class_means(centre, known, sums, sizes, noise)
        shrunk = np.maximum(0.0, 1 - apart.shape[1] * (noise / sizes) ** 2 / np.maximum((apart**2).sum(axis=1), 1e-300))
        means = centre + apart * shrunk[:, None]

        progress("directions", 0.35)
        within = replace(start, centre=means)
        within = replace(within, radius=_radii(curator, within, SCATTER_QUANTILE, LENGTHS * budget, together=True))
        scatter = Scatter(within, "scatter around class means")
        directions = SCATTER * (1 - share) / (1 - MEANS[0])
        matrices, deviation = scatter.split(curator.answer([scatter], directions * budget)[0])
        most = self.directions or most_directions(curator.remaining, rows / classes)
        found = _directions(matrices[0] / rows, float(deviation[0]) / rows, most, exactly=self.directions is not None)
        apart = _smoothed(apart, noise / sizes, *found)
        basis, values, spread = _with_classes(matrices[0] / rows, *found, apart)

        progress("classes in these directions", 0.7)
        white = replace(within, basis=basis / np.sqrt(values))
        white = replace(white, radius=_radii(curator, white, CLASS_QUANTILE, LENGTHS * budget))
        moved = ClassSums(white, "class means along the directions", COUNT)
        filled = Scatter(white, "class covariances along the directions", apart=True)
        left = curator.remaining
        answers = curator.answer([moved], 0.25 * left) + curator.answer([filled], 0.75 * left * (1 - 1e-9))
        shift, factors = _classes(moved, filled, answers, sizes)
        root = basis * np.sqrt(values)
        progress("done", 1.0)
        return Fitted(
            ClassGenerator(
                domain,
                rows,
                [Place.of(f) for f in features],
                self.target,
                sizes / sizes.sum(),
                centre + ((means - centre) @ basis) @ basis.T + shift @ root.T,
                root,
                factors,
                spread,
            )
        )

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Sizes and time from the declared domain alone."""
        width = self._require(domain)
        least = MEANS[0]
        rest = 1 - CENTRE - 3 * LENGTHS - least - SCATTER
        steps = [
            ("the mean record", CENTRE),
            ("lengths", 3 * LENGTHS),
            ("class means, more where they drown in noise", least),
            ("directions", SCATTER),
            ("classes along them", rest),
        ]
        return Plan(steps, width * width, 2.0 + 3e-9 * width**3 + 8e-6 * width * width)

    def _require(self, domain: Domain) -> int:
        if self.target is not None and self.target not in domain:
            raise UsageError(f"target: no column named {self.target!r}; columns are {', '.join(domain.names)}")
        if self.target is not None and domain.size(self.target) > MOST_CLASSES:
            raise UsageError(
                f"target {self.target!r} has {domain.size(self.target)} codes; classes are at most {MOST_CLASSES}"
            )
        if len(domain) == (self.target is not None):
            raise UsageError("nigao needs a column beside the target")
        # an upper bound: numbers have one or two features, labels one for each code
        width = sum(
            min(domain.size(name), 4096) if domain.size(name) <= 64 else 2 for name in domain if name != self.target
        )
        if len(domain) > MOST_FEATURES:
            raise ModelTooLarge(f"{len(domain):,} columns are more than the {MOST_FEATURES:,} that nigao takes")
        return min(width, MOST_FEATURES)


def _radii(curator: Curator, vectors: Vectors, quantile: float, cost: float, *, together: bool = False) -> FloatArray:
    """The length that this share of each class (or of all records) does not pass, from noisy counts on a public grid."""
    asked = (
        replace(vectors, classes=1, class_axis=None)
        if together and (vectors.centre is None or len(vectors.centre) < 2)
        else vectors
    )
    longest = 2 * math.sqrt(vectors.raw_width) if vectors.basis is None else 8 * math.sqrt(vectors.width)
    edges = longest * np.linspace(0, 1, GRID + 1)[1:-1] ** 1.5
    counted = curator.answer([NormCounts(asked, "lengths of records", edges)], cost)[0]
    found = counted.values.reshape(-1, GRID)
    if together:
        found = found.sum(axis=0, keepdims=True)
    noise = counted.sigma * math.sqrt(asked.classes if together else 1)
    clear = np.cumsum(np.where(found > 2 * noise, found, 0.0), axis=1)
    radii = np.empty(len(found))
    for c, reached in enumerate(clear):
        at = int(np.searchsorted(reached, quantile * reached[-1])) if reached[-1] > 0 else GRID // 2
        radii[c] = edges[min(at, len(edges) - 1)]
    return radii


def _sizes(counts: FloatArray, rows: float) -> FloatArray:
    """Class sizes that are possible: none below one record, all together the table."""
    sizes = np.maximum(counts, 1.0)
    return np.asarray(sizes * rows / sizes.sum())


def means_share(width: int, classes: int, rows: float, cost: float) -> float:
    """The share of the budget for class means, from public and released sizes."""
    noise = width * (classes / rows) ** 2 / (2 * MEANS[0] * cost)
    return float(np.clip(MEANS[0] * noise / QUIET, *MEANS))


def _class_means(
    centre: FloatArray, known: float, sums: FloatArray, sizes: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray]:
    """The mean record, now that there are better numbers of it, and how far classes lie apart from it.

    What classes have in common mends the mean record, as far as it is surer.
    """
    rows = sizes.sum()
    common = sums.sum(axis=0) / rows
    own = noise * math.sqrt(len(sizes)) / rows
    apart = sums / sizes[:, None] - common
    return centre + common * known**2 / (known**2 + own**2), np.asarray(apart)


def most_directions(left: float, size: float) -> int:
    """How many directions a class of this size can fill with what is left of the budget (ρ)."""
    # a class covariance in k whitened directions has noise of about k³·(6/7)²/(2ρn²) of its own size
    return max(1, int((FILLED * 2 * 0.75 * left * size**2 / (6 / 7) ** 2) ** (1 / 3)))


def _directions(covariance: FloatArray, deviation: float, most: int, *, exactly: bool) -> tuple[FloatArray, FloatArray]:
    """Leading directions and their variances, as far as they are not made of noise."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    # noise alone has eigenvalues up to 2·deviation·√d
    edge = 2 * deviation * math.sqrt(len(values))
    kept = max(1, min(most if exactly else min(most, int((values > edge).sum())), len(values)))
    # noise lifts what it mixes with: λ̂ ≈ λ + (edge/2)²/λ
    seen = values[:kept]
    true = (seen + np.sqrt(np.maximum(seen**2 - edge**2, 0.0))) / 2
    return vectors[:, :kept], np.maximum(true, max(1e-6, float(true.max()) * FLOOR))


def _smoothed(apart: FloatArray, noise: FloatArray, basis: FloatArray, values: FloatArray) -> FloatArray:
    """Class means without what is more likely noise: classes lie apart where records differ, more or less.

    The prior of a coordinate is proportional to the variance along it; its noise is the same in all. The factor is what
    fits the length of all of them.
    """
    inside = apart @ basis
    outside = apart - inside @ basis.T
    free = apart.shape[1] - basis.shape[1]
    found = []
    for a, b, sigma in zip(inside, outside, noise, strict=True):
        factor = max(0.0, float((a**2).sum()) - len(a) * sigma**2) / float(values.sum())
        kept = a * factor * values / (factor * values + sigma**2)
        left = max(0.0, 1 - free * sigma**2 / max(float((b**2).sum()), 1e-300))
        found.append(kept @ basis.T + left * b)
    return np.array(found)


def _with_classes(
    covariance: FloatArray, basis: FloatArray, values: FloatArray, apart: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The directions with those in which classes lie apart, and what all of them leave out of each feature."""
    left = apart - (apart @ basis) @ basis.T
    left -= left.mean(axis=0)
    _, sizes, beside = np.linalg.svd(left, full_matrices=False)
    extra = beside[sizes > 1e-9].T[:, : max(0, len(apart) - 1)]
    along = np.einsum("ij,ik,kj->j", extra, covariance, extra)
    basis, values = np.hstack([basis, extra]), np.append(values, np.maximum(along, values.min()))
    rest = np.diag(covariance) - (basis**2 * values).sum(axis=1)
    return basis, values, np.sqrt(np.maximum(rest, 0.0))


def _classes(
    moved: ClassSums, filled: Scatter, answers: Sequence[object], sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Shifts of the class means and factors of the class covariances, in whitened directions."""
    first, second = answers
    _, sums = moved.split(first)  # type: ignore[arg-type]
    noise = first.sigma * moved.vectors.radius / LATTICE / sizes  # type: ignore[attr-defined]
    shift = sums / sizes[:, None]
    shift *= np.maximum(0.0, 1 - noise[:, None] ** 2 / np.maximum(shift**2, 1e-300))
    matrices, deviation = filled.split(second)  # type: ignore[arg-type]
    inner = matrices.shape[1]
    pooled = matrices.sum(axis=0) / sizes.sum()
    factors = np.empty_like(matrices)
    for c, matrix in enumerate(matrices):
        own = matrix / sizes[c] - np.outer(shift[c], shift[c])
        apart = own - pooled
        expected = inner * (inner + 1) * (float(deviation[c]) / sizes[c]) ** 2
        weight = max(0.0, 1 - expected / max(float((apart**2).sum()), 1e-300))
        values, vectors = np.linalg.eigh(pooled + weight * apart)
        factors[c] = vectors * np.sqrt(np.maximum(values, 1e-4))
    return shift, factors
