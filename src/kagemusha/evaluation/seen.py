"""What people will see: the tables compared value by value, not code by code. INTERNAL where one of them is real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kagemusha.evaluation.conditional import Conditionals, compare_conditionals
from kagemusha.evaluation.discriminator import Discriminator, discriminate_raw
from kagemusha.evaluation.raw import RawTable
from kagemusha.evaluation.raw_columns import RawDistance, kolmogorov_smirnov, quantiles, raw_distances, wasserstein
from kagemusha.evaluation.raw_features import Feature, differences

Ends = tuple[float, float, float] | None


@dataclass(frozen=True)
class Difference:
    """How far apart two columns lie: dates (in days), or numbers that seem to share a unit."""

    name: str
    unit: str
    real: Ends
    """5 %, half and 95 %."""
    synthetic: Ends
    negative_real: float
    """Share of rows in which the first column comes after the second."""
    negative_synthetic: float
    kolmogorov_smirnov: float
    wasserstein: float | None


@dataclass(frozen=True, eq=False)
class Seen:
    """All that was found by looking at values."""

    real: RawTable
    synthetic: RawTable
    columns: Sequence[RawDistance]
    differences: Sequence[Difference]
    conditionals: Conditionals
    discriminator: Discriminator | None

    @property
    def lost(self) -> int:
        """Values that people have and no double has, over all columns."""
        return sum(column.lost for column in self.columns)

    @property
    def invented(self) -> int:
        """Values that doubles have and nobody else."""
        return sum(column.invented for column in self.columns)

    @property
    def column_shapes(self) -> float:
        """The mean over columns of 1 minus the distance: what SDMetrics calls the score of column shapes."""
        return float(np.mean([column.complement for column in self.columns]))

    @property
    def reversed(self) -> Difference | None:
        """The difference that changes its sign most often, if people and doubles disagree about it."""
        worst = max(self.differences, key=lambda d: abs(d.negative_real - d.negative_synthetic), default=None)
        return worst if worst and abs(worst.negative_real - worst.negative_synthetic) > 0.01 else None

    def to_json(self) -> dict[str, Any]:
        """The numbers, for machines."""
        return {
            "rows looked at": {"real": self.real.rows, "synthetic": self.synthetic.rows},
            "columns": [{**asdict(c), "complement": c.complement} for c in self.columns],
            "column shapes": self.column_shapes,
            "values lost": self.lost,
            "values invented": self.invented,
            "differences": [asdict(d) for d in self.differences],
            "conditional": asdict(self.conditionals),
            "discriminator": asdict(self.discriminator) if self.discriminator else None,
        }


def compare_seen(real: RawTable, synthetic: RawTable, *, learning: bool, rng: np.random.Generator) -> Seen:
    """Compare two tables value by value; without `learning` nothing is trained."""
    return Seen(
        real,
        synthetic,
        raw_distances(real, synthetic),
        [_difference(feature) for feature in differences(real, synthetic)],
        compare_conditionals(real, synthetic, rng=rng),
        discriminate_raw(real, synthetic, rng=rng) if learning else None,
    )


def _difference(feature: Feature) -> Difference:
    sides = [side[~np.isnan(side)] for side in (feature.real, feature.synthetic)]
    negative = [float(np.mean(side < 0)) if len(side) else 0.0 for side in sides]
    return Difference(
        feature.name,
        feature.unit,
        quantiles(sides[0]),
        quantiles(sides[1]),
        negative[0],
        negative[1],
        kolmogorov_smirnov(*sides),
        wasserstein(*sides),
    )
