"""Regressions from released tables: coefficients, and how they scatter over noise and over samples of people.

Least squares needs sums of products of two columns, and these are in the tables of pairs. Logistic regression needs,
beside the outcome's pairs, how the columns that explain go together: that is the model's, moved to the released pairs.
Noise is drawn again by its law and the equations are solved again; what another sample of people would have changed
comes from the residuals of the model's people, whatever their law ("sandwich").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.inference.evidence import Unknown, require_plain
from kagemusha.inference.formula import MOST_FEATURES, Feature, Formula, features_of, joined
from kagemusha.inference.moments import Product, Released, unmeasured
from kagemusha.models.model import Model

MOST_CELLS, MOST_ROWS = 50_000, 30_000
"""The model's people are a table of so many cells, or else so many drawn rows."""

FEWEST = 4.0
"""What is not so many deviations of its noise from nothing may as well be nothing."""

FEWEST_PEOPLE = 30
"""People that a group has, at least, to have a coefficient of its own."""

MOST_LOGISTIC = 3
"""Columns that explain odds: how often intervals of more hold was not measured."""

LACKING = 0.001
"""Share of people whose outcome may be missing: they count as average."""

STEPS, LARGEST = 50, 15.0
"""Steps of Newton's method, and a logarithm of odds (per deviation of a column) that says that it ran away."""

REFINED = 3
"""Rounds in which curvature is taken into account where the noise is drawn again."""

UNSURE = "too few people for the noise"
ALIKE = "the columns that explain cannot be distinguished from each other within the noise"


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients, and the same as they would have come out another time, one row each."""

    names: Sequence[str]
    values: FloatArray
    drawn: FloatArray


@dataclass(frozen=True, eq=False)
class Sums:
    """Means of products of features, the constant among them, and the law of what they are off by."""

    means: FloatArray
    """Of each product of two features that explain, the first feature being 1: a symmetric matrix."""
    outcome: FloatArray
    """Of the outcome with each of them."""
    off: FloatArray
    """Draws of the errors of both: the matrix row by row, then the outcome's."""

    def errors(self, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draws of what the means and the outcome's are off by."""
        size = len(self.outcome)
        drawn = rng.standard_normal((draws, self.off.shape[1])) @ self.off.T
        return drawn[:, : size * size].reshape(draws, size, size), drawn[:, size * size :]


def fitted(model: Model, formula: Formula, draws: int, rng: np.random.Generator) -> Fitted:
    """The coefficients; `Unknown` says what was not released that they need."""
    require_plain(model)
    if formula.logistic and len(formula.predictors) > MOST_LOGISTIC:
        raise Unknown(
            f"how more than {MOST_LOGISTIC} columns go together is the model's belief alone, and how often intervals "
            "of such a logistic regression hold is not known"
        )
    released = Released(model)
    features, outcome = design(released, formula)
    middles = np.array([_mean(released, one) for one in features])
    centred = [replace(one, values=one.values - middle) for one, middle in zip(features, middles, strict=True)]
    sums = _sums(released, centred, outcome)
    drawn_means, drawn_outcome = sums.errors(draws, rng)
    require_apart(sums.means, drawn_means, ALIKE)
    people = _people(model, centred, outcome, rng)
    if formula.logistic:
        found, scattered = _logistic(sums, people, drawn_means, drawn_outcome)
    else:
        found, scattered = _least_squares(sums, drawn_means, drawn_outcome)
    scattered += (
        rng.standard_normal(scattered.shape)
        @ _root(people.sandwich(found, logistic=formula.logistic)).T
        / (np.sqrt(model.rows))
    )
    # the constant is of people for whom every feature is 0, not average
    found, drawn = found.copy(), found + scattered
    found[0] -= found[1:] @ middles
    drawn[:, 0] -= drawn[:, 1:] @ middles
    return Fitted(["(constant)", *(one.name for one in features)], found, drawn)


def design(released: Released, formula: Formula) -> tuple[list[Feature], Feature]:
    """The features that explain, and the outcome; `Unknown` where a table that they need was not released."""
    outcome = formula.outcome
    names = [column.name for column in formula.predictors]
    needed = [*((outcome.column, name) for name in names), *combinations(names, 2)]
    lacking = [pair for pair in needed if not released.measured(*pair)]
    if lacking:
        raise Unknown(unmeasured(lacking))
    outcome = _outcome(released, outcome, names)
    features: list[Feature] = []
    for column in formula.predictors:
        others = [name for name in (outcome.column, *names) if name != column.name]
        together = joined(column.size, released.groupings(column.name, others))
        fewest = max(FEWEST_PEOPLE, 2.5 * FEWEST * released.deviation(column.name))
        features += features_of(column, released.counts(column.name), together, fewest)
    if not features:
        raise Unknown(UNSURE)
    if len(features) > MOST_FEATURES:
        raise Unknown(f"the columns that explain have {len(features)} coefficients; at most {MOST_FEATURES} are tried")
    return features, outcome


def _outcome(released: Released, outcome: Feature, names: Sequence[str]) -> Feature:
    column = released.model.schema.modelled_column(outcome.column)
    counts = released.counts(outcome.column)
    if not outcome.numeric:
        for group in released.groupings(outcome.column, names):
            if (np.bincount(group, outcome.values) % np.bincount(group)).any():
                raise Unknown(f"values of {outcome.column} were measured together and cannot be distinguished")
        return outcome
    lacking = float(counts[column.n_values :].sum())
    if lacking > LACKING * released.total + FEWEST * released.deviation(outcome.column):
        raise Unknown(
            f"{outcome.column} is missing or special for {100 * lacking / released.total:.1f} % of people: to leave "
            "them out takes tables of three columns"
        )
    values = outcome.values.copy()
    values[column.n_values :] = float((counts * values)[: column.n_values].sum() / counts[: column.n_values].sum())
    return replace(outcome, values=values)


def _mean(released: Released, feature: Feature) -> float:
    return released.product(feature).value / released.total


def _sums(released: Released, features: Sequence[Feature], outcome: Feature) -> Sums:
    size = len(features) + 1
    products: list[Product] = []
    places: list[list[int]] = []
    table = np.zeros(size * size + size)

    def add(product: Product, *at: int) -> None:
        products.append(product)
        places.append(list(at))
        table[list(at)] = product.value / released.total

    table[0] = 1.0
    for i, one in enumerate(features, 1):
        add(released.product(one), i, i * size)
        for j, other in enumerate(features[:i], 1):
            add(released.product(one, other), i * size + j, j * size + i)
        add(released.product(one, outcome), size * size + i)
    add(released.product(outcome), size * size)
    law = released.noise(products) + np.diag([product.coarse**2 for product in products])
    off = np.zeros((len(table), len(products)))
    root = _root(law) / released.total
    for row, at in enumerate(places):
        off[at] = root[row]
    return Sums(table[: size * size].reshape(size, size), table[size * size :], off)


def _root(law: FloatArray) -> FloatArray:
    """A matrix that makes independent numbers into ones of this covariance."""
    values, vectors = np.linalg.eigh(law)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def require_apart(matrix: FloatArray, drawn: FloatArray, why: str) -> None:
    """Refuse equations that the noise, of which some is drawn, might as well leave without an answer."""
    if not (np.diag(matrix) > 0).all():
        raise Unknown(why)
    spread = np.sqrt(np.diag(matrix))
    values, vectors = np.linalg.eigh(matrix / np.outer(spread, spread))
    least = vectors[:, 0] / spread
    noise = float(np.std(np.einsum("i,bij,j->b", least, drawn, least)))
    if values[0] < max(FEWEST * noise, 1e-9):
        raise Unknown(why)


@dataclass(frozen=True, eq=False)
class People:
    """The model's people as far as a regression looks at them: features with a first one of 1, outcome, weight."""

    features: FloatArray
    outcome: FloatArray
    weight: FloatArray

    def sandwich(self, found: FloatArray, *, logistic: bool) -> FloatArray:
        """The covariance of coefficients over samples of one person; divided by their number, of so many."""
        line = self.features @ found
        shown = _odds(line) if logistic else line
        slope = shown * (1 - shown) if logistic else np.ones_like(line)
        bread = np.linalg.inv((self.features * (self.weight * slope)[:, None]).T @ self.features)
        inside = self.features * (np.sqrt(self.weight) * (self.outcome - shown))[:, None]
        return np.asarray(bread @ (inside.T @ inside) @ bread)


def _people(model: Model, features: Sequence[Feature], outcome: Feature, rng: np.random.Generator) -> People:
    columns = model.domain.canonical(tuple({outcome.column, *(one.column for one in features)}))
    if model.domain.cells(columns) <= MOST_CELLS:
        weight = np.maximum(model.project(columns), 0.0)
        codes = dict(zip(columns, np.indices(weight.shape).reshape(len(columns), -1), strict=True))
        share = weight.ravel() / weight.sum()
    else:
        drawn = model.sample_codes(min(MOST_ROWS, max(1000, model.rows)), rng=rng)
        codes = {name: drawn[:, model.domain.axis(name)] for name in columns}
        share = np.full(len(drawn), 1 / len(drawn))
    there = share > 0
    rows = [np.ones(int(there.sum())), *(one.values[codes[one.column][there]] for one in features)]
    return People(np.column_stack(rows), outcome.values[codes[outcome.column][there]], share[there])


def _least_squares(sums: Sums, means: FloatArray, outcome: FloatArray) -> tuple[FloatArray, FloatArray]:
    found = np.linalg.solve(sums.means, sums.outcome)
    again = np.linalg.solve(sums.means + means, (sums.outcome + outcome)[..., None])[..., 0]
    return np.asarray(found), np.asarray(again - found)


def _odds(line: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(line))


def _logistic(sums: Sums, people: People, means: FloatArray, outcome: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Newton's method on the score, whose expectation over people is the model's, moved to the released products.

    What is no product of two features is put together from such products, as far as that goes, and moves with them.
    """
    size = len(sums.outcome)
    x, weight = people.features, people.weight
    first, second = np.triu_indices(size)
    products = x[:, first] * x[:, second]
    spread = np.sqrt(np.maximum(weight @ products**2, 1e-300))
    heavy = products * weight[:, None] / spread
    gram = np.linalg.pinv(heavy.T @ products / spread, rcond=1e-9, hermitian=True)

    def along(functions: FloatArray) -> FloatArray:
        """Each function of people as a sum of products."""
        return np.asarray((heavy.T @ functions).T @ gram / spread)

    apart = sums.means[first, second] - weight @ products
    deviations = np.sqrt(np.diag(sums.means))
    found = np.zeros(size)
    found[0] = np.log(max(sums.outcome[0], 1e-6) / max(1 - sums.outcome[0], 1e-6))
    for _ in range(STEPS):
        shown = _odds(x @ found)
        by = along(x * shown[:, None])
        slope = shown * (1 - shown)
        score = sums.outcome - x.T @ (weight * shown) - by @ apart
        step = np.linalg.lstsq((x * (weight * slope)[:, None]).T @ x, score, rcond=None)[0]
        found = found + step
        if not np.isfinite(found).all() or np.abs(found * deviations).max() > LARGEST:
            raise Unknown(UNSURE)
        if np.abs(step * deviations).max() < 1e-9:
            break
    else:
        raise Unknown(UNSURE)
    # the same equations with other noise, to the second order
    moved = means[:, first, second]
    steep = (weight * slope) @ products + (apart + moved) @ along(products * slope[:, None]).T
    curve = x.T @ (products * (weight * slope * (1 - 2 * shown))[:, None]) * np.where(first == second, 0.5, 1.0)
    matrix = np.zeros((len(moved), size, size))
    matrix[:, first, second] = matrix[:, second, first] = steep
    require_apart(matrix.mean(axis=0), matrix - matrix.mean(axis=0), UNSURE)
    off = outcome - moved @ by.T
    change = np.zeros_like(off)
    for _ in range(REFINED):
        bent = np.clip(change, -LARGEST / deviations, LARGEST / deviations)
        right = off - (bent[:, first] * bent[:, second]) @ curve.T
        change = np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0])
    return found, np.asarray(change)
