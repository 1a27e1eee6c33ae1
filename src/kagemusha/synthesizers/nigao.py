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
from kagemusha.queries.record_sums import LATTICE, ClassSums, NormCounts, Scatter, Vectors
from kagemusha.release.curator import Curator
from kagemusha.schema.domain import Domain
from kagemusha.schema.features import features_of
from kagemusha.synthesizers.protocol import Fitted, Plan, Synthesizer

CENTRE, LENGTHS, MEANS, SCATTER = 0.03, 0.01, 0.15, 0.34
"""Shares of the budget: the mean record, each of three looks at lengths, class means, directions. Classes get the rest."""

MOST_FEATURES = 3000
MOST_CLASSES = 100

COUNT = LATTICE // 8
"""A record's count beside its vector of LATTICE: counts need far less precision."""

MEAN_QUANTILE, SCATTER_QUANTILE = 0.9, 0.7
"""Which share of records keeps its length: clipping the longest costs less than noise made for them."""

CLASS_QUANTILE = 0.8
"""The same inside a class, along the directions found."""

MOST_DIRECTIONS = 60

GRID = 64
"""Cells of a look at lengths."""

EDGE = 1.5
"""A direction is kept if its variance passes that of noise alone by this factor."""

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
        counts, sums = query.split(curator.answer([query], CENTRE * budget)[0])
        rows = float(curator.public_rows() or max(1.0, counts[0]))
        centre = np.clip(sums / rows, -1, 1)

        progress("class means", 0.15)
        around = replace(start, centre=centre)
        around = replace(around, radius=_radii(curator, around, MEAN_QUANTILE, LENGTHS * budget, together=True))
        by_class = ClassSums(around, "class sizes and sums", COUNT)
        answer = curator.answer([by_class], MEANS * budget)[0]
        counts, sums = by_class.split(answer)
        noise = answer.sigma * float(around.radius[0]) / LATTICE
        sizes = _sizes(counts, rows)
        means = centre + _shrunk_means(sums, sizes, noise)

        progress("directions", 0.35)
        within = replace(start, centre=means)
        within = replace(within, radius=_radii(curator, within, SCATTER_QUANTILE, LENGTHS * budget, together=True))
        scatter = Scatter(within, "scatter around class means")
        matrices, deviation = scatter.split(curator.answer([scatter], SCATTER * budget)[0])
        noise = float(deviation[0]) / rows
        basis, values, spread = _directions(matrices[0] / rows, noise, means - centre, self.directions)

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
        rest = 1 - CENTRE - 3 * LENGTHS - MEANS - SCATTER
        steps = [
            ("the mean record", CENTRE),
            ("lengths", 3 * LENGTHS),
            ("class means", MEANS),
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


def _shrunk_means(sums: FloatArray, sizes: FloatArray, noise: float) -> FloatArray:
    """Class means around the centre, shrunk as far as their length is noise (James and Stein)."""
    means = sums / sizes[:, None]
    expected = means.shape[1] * (noise / sizes) ** 2
    lengths = np.maximum((means**2).sum(axis=1), 1e-300)
    return np.asarray(means * np.maximum(0.0, 1 - expected / lengths)[:, None])


def _directions(
    covariance: FloatArray, deviation: float, apart: FloatArray, wanted: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leading directions and those in which classes lie apart, their variances, and what they leave out of each feature."""
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    # noise alone has eigenvalues up to 2·deviation·√d; a direction below that edge is made of noise
    edge = 2 * deviation * math.sqrt(len(values))
    clear = int((values > EDGE * edge).sum())
    kept = max(1, min(wanted or min(clear, MOST_DIRECTIONS), len(values)))
    # noise lifts what it mixes with: λ̂ ≈ λ + (edge/2)²/λ
    seen = values[:kept]
    true = (seen + np.sqrt(np.maximum(seen**2 - edge**2, 0.0))) / 2
    basis = vectors[:, :kept]
    extra = _between(apart - apart.mean(axis=0), basis)
    along = np.einsum("ij,ik,kj->j", extra, covariance, extra)
    floor = max(1e-6, float(true.max()) * FLOOR)
    basis, true = np.hstack([basis, extra]), np.maximum(np.append(true, along), floor)
    rest = np.diag(covariance) - (basis**2 * true).sum(axis=1)
    return basis, true, np.sqrt(np.maximum(rest, 0.0))


def _between(apart: FloatArray, basis: FloatArray) -> FloatArray:
    """Directions of class means beside those that are there already."""
    left = apart - (apart @ basis) @ basis.T
    _, sizes, directions = np.linalg.svd(left, full_matrices=False)
    return np.asarray(directions[sizes > 1e-9].T[:, : max(0, len(apart) - 1)])


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
