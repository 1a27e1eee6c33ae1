"""Estimates with intervals from a release: `estimate(release, "mean age by ward")`.

They are worked out from the released noisy numbers, not from doubles: counts, or an interaction put together with its
columns, are the truth plus noise of a known law, so a ratio of their sums is nearly unbiased, and how far it may be off
is found by drawing the noise, and the sampling of the table, again. Where the columns were never measured together, or
only in groups that hide what is asked, nothing is concluded, and the reason is given. The interval is for the
population that the table is a sample of. Nothing here reads the private table or costs privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from kagemusha.arrays import FloatArray
from kagemusha.certificate.inventory import MODEL
from kagemusha.inference.evidence import Unknown, evidence_of
from kagemusha.inference.formula import is_formula, read_formula
from kagemusha.inference.regression import fitted
from kagemusha.inference.statistics import read_statistic
from kagemusha.models.model import Model, load_model
from kagemusha.pages import card
from kagemusha.ranges import between

DRAWS = 2_000
"""Draws of noise and sampling: the deviation of an estimate is known to 2 % from them."""

FEWEST = 4.0
"""A group whose size is less than so many of its own deviations may as well be empty: it has no ratio."""


@dataclass(frozen=True)
class Estimate:
    """One number with its interval; both are not a number where nothing can be concluded, and `why` says why."""

    what: str
    value: float
    low: float
    high: float
    why: str = ""

    def __str__(self) -> str:
        if self.why:
            return f"{self.what}: {self.why}"
        return f"{self.what}: {self.value:.4g} (between {self.low:.4g} and {self.high:.4g})"


@dataclass(frozen=True)
class Estimates(Sequence[Estimate]):
    """The answer to one question: an estimate for each group."""

    asked: str
    level: float
    each: tuple[Estimate, ...]

    def __getitem__(self, at: int) -> Estimate:  # type: ignore[override]
        return self.each[at]

    def __len__(self) -> int:
        return len(self.each)

    def __str__(self) -> str:
        return "\n".join([f"{self.asked} ({100 * self.level:g} % intervals)", *map(str, self.each)])

    def _repr_html_(self) -> str:
        facts = {one.what: str(one).removeprefix(f"{one.what}: ") for one in self.each}
        return card(f"{self.asked} ({100 * self.level:g} % intervals)", facts)


def estimate(release: Model | str | PathLike[str], asked: str, *, level: float = 0.95, seed: int = 0) -> Estimates:
    """What a release says about the population, with intervals; see `statistics` for what may be asked.

    `release` is a model, a model file or the folder of a release. The same `seed` gives the same intervals.
    """
    between(0, 1, level=level)
    model = release if isinstance(release, Model) else _loaded(Path(release))
    if is_formula(asked):
        return _regression(model, asked, level, seed)
    statistic = read_statistic(asked, model.schema)
    try:
        evidence = evidence_of(model, statistic)
    except Unknown as unknown:
        nothing = (Estimate(name or asked, math.nan, math.nan, math.nan, str(unknown)) for name in statistic.names)
        return Estimates(asked, level, tuple(nothing))
    drawn = evidence.drawn(DRAWS, np.random.default_rng(seed))
    value, weight = evidence.sums(evidence.table[None])
    above, below = evidence.sums(drawn)
    small = weight[0] < FEWEST * below.std(axis=0)
    if statistic.contrast:
        small = np.array([bool(small.any())])
    values = statistic.ratios(value, weight)[0]
    low, high = _interval(values, statistic.ratios(above, below), level, evidence.coarse)
    shown = [statistic.shown(numbers) for numbers in (values, low, high)]
    found = []
    for name, number, least, most, too_small in zip(statistic.names, *shown, small, strict=True):
        if too_small or not all(map(math.isfinite, (number, least, most))):
            found.append(Estimate(name or asked, math.nan, math.nan, math.nan, "too few people for the noise"))
        else:
            found.append(Estimate(name or asked, float(number), float(least), float(most)))
    return Estimates(asked, level, tuple(found))


def _regression(model: Model, asked: str, level: float, seed: int) -> Estimates:
    formula = read_formula(asked, model.schema)
    try:
        found = fitted(model, formula, DRAWS, np.random.default_rng(seed))
    except Unknown as unknown:
        return Estimates(asked, level, (Estimate(asked, math.nan, math.nan, math.nan, str(unknown)),))
    low, high = _interval(found.values, found.drawn, level, 0.0)
    each = (Estimate(*one) for one in zip(found.names, *(v.tolist() for v in (found.values, low, high)), strict=True))
    return Estimates(asked, level, tuple(each))


def _loaded(path: Path) -> Model:
    return load_model(path / MODEL if path.is_dir() else path)


def _interval(values: FloatArray, drawn: FloatArray, level: float, coarse: float) -> tuple[FloatArray, FloatArray]:
    """As wide as draws scatter; their middle part says how far, since ratios have long tails."""
    from scipy import stats

    known = np.where(np.isnan(drawn).all(axis=0), 0.0, drawn)  # of nothing known comes no interval: `values` say so
    upper, lower = np.nanpercentile(known, [84.134, 15.866], axis=0)
    wide = stats.norm.ppf((1 + level) / 2) * np.hypot((upper - lower) / 2, coarse)
    return values - wide, values + wide
