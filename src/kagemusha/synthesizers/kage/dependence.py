"""What the scores tell of every pair: how far it is from independence, and how smooth that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kagemusha.arrays import FloatArray
from kagemusha.privacy.unit import PrivacyUnit
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema.domain import Clique
from kagemusha.synthesizers.kage.choice import drawn_together
from kagemusha.synthesizers.kage.levels import Levels, hidden_by_both, seen_half, usual_half
from kagemusha.synthesizers.kage.state import Gathered
from kagemusha.synthesizers.noise_cost import MEAN_ABSOLUTE, gaussian_sigma

COLUMN_KEPT = 0.7
"""Share of a column's raw noise that is left after estimation."""

USUAL, WANTED = 0.05, 0.3
"""Share of the records by which pairs are usually further from independence than chance brings: all that is believed where scores say nothing.
The second for pairs of a named target."""

TRUSTED = 4.0
"""What a wider look says of a dependence as large as this many deviations of a score counts as much as what is usual."""

STRONG = 0.75
"""Of a stronger dependence a few wide groups show so little that more groups are thought to be needed than they say."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """What the scores tell of every pair, in records.

    A score is made of the dependence itself (`signal`), of what chance puts between independent columns of so many
    records (`floor`), and of the noise of the columns it is measured from; squares add up, and `base` is all but the first.
    """

    signal: FloatArray
    floor: FloatArray
    base: FloatArray
    strength: FloatArray
    """The signal from 0 to 1, where a column determines the other."""
    half: FloatArray
    """How many groups of a column hide half of the signal."""

    @property
    def left_out(self) -> FloatArray:
        """The error of each pair if it is not measured."""
        return np.hypot(self.signal, self.floor)


def dependence(
    pairs: Sequence[Clique],
    products: Sequence[FloatArray],
    scores: NoisyVector,
    errors: Mapping[str, float],
    total: float,
    levels: Mapping[str, Levels],
    wider: Mapping[int, float],
    wider_sigma: float,
    named: npt.NDArray[np.bool_],
) -> Dependence:
    """What noisy distances of `pairs` from the `products` of their columns tell; `errors` are those of the columns.

    `wider` are the distances of some pairs (by their place) over wide groups; `named` says which pairs have the named target.
    """
    floor = np.array([floor_of(product) for product in products])
    in_columns = np.array([sum(errors[name] ** 2 for name in pair) for pair in pairs])
    base = np.sqrt(floor**2 + in_columns)
    above = np.maximum(_above(scores.values - base, scores.sigma, total, named), 0.0)
    signal = np.sqrt(above * (above + 2 * base))
    # two columns that determine each other are 2·N·(1 − 1/codes) apart from independence
    most = np.array([2 * total * (1 - 1 / min(p.shape)) if min(p.shape) > 1 else 1.0 for p in products])
    strength = np.minimum(signal / most, 1.0)
    half = usual_half(strength)
    for i, score in wider.items():
        if signal[i] > 0:
            one, two = (levels[name] for name in pairs[i])
            wide_floor = floor_of(np.outer(one.counts[one.wide], two.counts[two.wide]) / total)
            shown = score * abs(score) - wide_floor**2 - in_columns[i]
            share = math.sqrt(min(1.0, max(0.0, 1 - shown / signal[i] ** 2)))
            trust = signal[i] ** 2 / (signal[i] ** 2 + (TRUSTED * wider_sigma) ** 2)
            told = seen_half(one, two, trust * share + (1 - trust) * float(hidden_by_both(one, two, float(half[i]))))
            half[i] = max(half[i], told) if strength[i] > STRONG else told
    return Dependence(signal, floor, base, strength, half)


def _above(excess: FloatArray, sigma: float, total: float, named: npt.NDArray[np.bool_]) -> FloatArray:
    """What scores say beyond their base: drawn together where they are noise, and towards what is usual where even their mean is.

    Pairs of a `named` target are believed to depend on each other as far as their own scores are noise: somebody wants to learn it.
    """
    found = drawn_together(excess, sigma)
    usual, noise = USUAL * total, sigma**2 / len(excess)
    found = found + (usual - float(excess.mean())) * noise / (noise + usual**2)
    wanted = WANTED * total
    share = sigma**2 / (sigma**2 + wanted**2)
    return np.asarray(np.where(named, np.maximum(found, (1 - share) * found + share * wanted), found))


def floor_of(product: FloatArray) -> float:
    """How far a table of independent records is from its expected counts by chance, in records."""
    share = math.prod(1 - 1 / n for n in product.shape)
    return float(np.minimum(MEAN_ABSOLUTE * np.sqrt(product), 2 * product).sum()) * math.sqrt(share)


def column_errors(known: Gathered, unit: PrivacyUnit, cost: float) -> dict[str, float]:
    """The error of every column if all of them are measured at this cost (ρ), in records: at most what its rare codes hold."""
    split = sum(size ** (2 / 3) for size in known.domain.sizes)
    found = {}
    for name, table in known.tables.items():
        sigma = gaussian_sigma(unit, cost) * math.sqrt(split / len(table) ** (2 / 3))
        found[name] = COLUMN_KEPT * MEAN_ABSOLUTE * float(np.minimum(sigma, table + 0.1 * sigma).sum())
    return found
