"""Criteria of acceptance: how much farther doubles are from the real table than a person demanded beforehand.

Each criterion is one number, the excess: at most 0 where it is kept. It is released with Gaussian (or Laplace) noise,
and the answer follows from that number alone, so whoever reads a certificate works it out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import QueryFact
from kagemusha.privacy.query_kinds import ACCEPTANCE_UNITS as UNITS
from kagemusha.queries.query import Choice, ReadsMarginals
from kagemusha.queries.scores import NoisyVector
from kagemusha.schema import Clique, Schema
from kagemusha.schema.demands import Criterion
from kagemusha.schema.domain import Domain

SURE = 1.645
"""Deviations of its noise that an excess must be away from 0: noise alone gets there in 5 of 100 cases."""

KEPT, BROKEN, OPEN = "kept", "not kept", "not decided"


@dataclass(frozen=True)
class Excess:
    """A released excess and the deviation of its noise, in units of the criterion's query."""

    value: int
    sigma: float

    @property
    def answer(self) -> str:
        """Whether the criterion is kept, if the noise lets that be said: wrong in at most 5 of 100 cases."""
        if self.value + SURE * self.sigma <= 0:
            return KEPT
        return BROKEN if self.value - SURE * self.sigma > 0 else OPEN


class Tested(ReadsMarginals[Excess]):
    """A criterion as a question."""

    criterion: Criterion

    def released(self, values: IntArray, deviation: float) -> Excess:
        """The excess with its noise."""
        return Excess(int(values[0]), deviation)

    def identity(self) -> Any:
        """The criterion."""
        return self.criterion.to_fields()

    @property
    def what(self) -> str:
        """The criterion, in words."""
        return f"excess over {self.criterion.words}"

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """What is demanded, in units."""
        return {"within": self.units_within}

    @property
    def units_within(self) -> int:
        """What is demanded, in whole units of 2⁻²⁰: rounded down, so that nothing is kept that is not."""
        raise NotImplementedError

    def distance(self, excess: Excess, rows: float) -> tuple[float, float]:
        """How far the doubles are from the real table, about, and 1.96 deviations of noise: as demands are stated."""
        each = self.worth / max(1.0, rows)
        return max(0.0, self.criterion.within + excess.value * each), 1.96 * excess.sigma * each

    @property
    def worth(self) -> float:
        """What a unit of the excess is in the words of the demand, in a table of one record."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TablesWithin(Tested):
    """max over tables r of Σ |c_r·U − n·P_r| − 2·W·n, P the doubles' shares in units U = 2²⁰, W what is demanded."""

    criterion: Criterion
    tables: Sequence[Clique]
    shares: Sequence[FloatArray]
    """The doubles' own, one table for each; they sum to 1."""

    kind: ClassVar[str] = "tables-within"
    proof: ClassVar[str] = (
        "The doubles' shares P are public whole numbers, at least 0, and sum to U = 2²⁰ in each table. A record added "
        "to cell a changes the vector (c·U − n·P) by U·e_a − P, of L1 norm 2(U − P_a) ≤ 2U, and 2·W·n by 2W, so "
        "each table's number changes by at most 2U + 2W. Exchanged, n stays and the vector changes by U(e_a − e_b): at "
        "most 2U. A maximum of numbers that each change by at most d changes by at most d. All sums are of whole "
        "numbers and exact."
    )

    @property
    def units_within(self) -> int:
        """The share that is demanded."""
        return int(self.criterion.within * UNITS)

    @property
    def worth(self) -> float:
        """Half an L1 distance is the share of doubles in a wrong cell."""
        return 0.5 / UNITS

    def cliques(self) -> Sequence[Clique]:
        """The tables."""
        return self.tables

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        rows = int(marginals[0].counts.sum())
        errors = (distance(m.counts, shares) for m, shares in zip(marginals, self.shares, strict=True))
        return np.array([max(errors) - 2 * self.units_within * rows], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class MeanWithin(Tested):
    """|Σ_j c_j·(X_j − M)| − T·n over the records that have a value, all in 2⁻²⁰ of the way between the outer values."""

    criterion: Criterion
    middles: FloatArray
    """The value that each of the first codes stands for; the other codes are no values."""
    mean: float
    """The doubles' own."""

    kind: ClassVar[str] = "mean-within"
    proof: ClassVar[str] = (
        "Values X_j and the doubles' mean M are public whole numbers from 0 to U = 2²⁰. A record with a value changes "
        "Σ c_j(X_j − M) by at most U, and T·n by T; one without changes neither. Added: at most U + T. Exchanged: "
        "between two records with values the sum moves by |X_a − X_b| ≤ U and n stays; between one with and one "
        "without, as if it were added: at most U + T. All sums are of whole numbers and exact."
    )

    @property
    def range(self) -> float:
        """From the least value to the largest."""
        return float(self.middles.max() - self.middles.min())

    @property
    def units_within(self) -> int:
        """The distance that is demanded; never more than there is."""
        return min(UNITS, int(self.criterion.within / self.range * UNITS))

    @property
    def worth(self) -> float:
        """In the column's own unit."""
        return self.range / UNITS

    def cliques(self) -> Sequence[Clique]:
        """The column."""
        return [self.criterion.columns]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        places, own = (self._units(x) for x in (self.middles, np.array([self.mean])))
        counts = marginals[0].counts[: len(places)]
        off = abs(int(counts @ (places - own)))
        return np.array([off - self.units_within * int(counts.sum())], dtype=np.int64)

    def _units(self, values: FloatArray) -> IntArray:
        place = (values - self.middles.min()) / self.range
        return np.asarray(np.clip(np.rint(place * UNITS), 0, UNITS), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LargestError(Choice[NoisyVector], ReadsMarginals[NoisyVector]):
    """For each of several releases, minus the largest Σ |c_r·U − n·P_r| over some tables r."""

    candidates: Sequence[str]
    tables: Sequence[Clique]
    shares: Sequence[Sequence[FloatArray]]
    """For each candidate, its shares of each table."""

    kind: ClassVar[str] = "largest-error"
    proof: ClassVar[str] = (
        "A release's shares P are public whole numbers, at least 0, and sum to U = 2²⁰ in each table. A record that is "
        "added to cell a changes c·U − n·P by U·e_a − P, of L1 norm at most 2U; exchanged by U(e_a − e_b), of L1 norm "
        "at most 2U. The largest of several such norms changes by at most 2U, whatever the number of tables."
    )

    @property
    def what(self) -> str:
        """The whole question: other columns, or another release, are another one."""
        columns = dict.fromkeys(name for table in self.tables for name in table)
        return f"largest error of the two-way tables of {', '.join(columns)} in each of {', '.join(self.candidates)}"

    @property
    def options(self) -> Sequence[tuple[str, ...]]:
        """The releases."""
        return [(name,) for name in self.candidates]

    def identity(self) -> Any:
        """The releases and the tables."""
        return [list(self.candidates), [list(clique) for clique in self.tables]]

    def cliques(self) -> Sequence[Clique]:
        """The tables."""
        return self.tables

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        counted = [m.counts for m in marginals]
        worst = (max(map(distance, counted, own)) for own in self.shares)
        return np.array([-error for error in worst], dtype=np.int64)

    def released(self, values: IntArray, deviation: float) -> NoisyVector:
        """In records."""
        return NoisyVector(values / UNITS, deviation / UNITS)


def distance(counts: IntArray, shares: FloatArray) -> int:
    """Σ |c·U − n·P|, exactly."""
    return int(np.abs(counts * UNITS - int(counts.sum()) * whole_shares(shares)).sum())


def whole_shares(shares: FloatArray) -> IntArray:
    """Shares as whole units that sum to `UNITS`: rounded down, the rest to those that lost most."""
    exact = np.maximum(shares.ravel(), 0.0)
    exact = exact * (UNITS / exact.sum())
    units = np.floor(exact).astype(np.int64)
    lost = np.argsort(-(exact - units), kind="stable")
    units[lost[: UNITS - int(units.sum())]] += 1
    return np.asarray(units.reshape(shares.shape), dtype=np.int64)


def tables_of(domain: Domain, columns: Sequence[str]) -> list[Clique]:
    """All two-way tables of some columns."""
    return list(combinations(domain.canonical(columns), 2))


def asked(schema: Schema, project: Any) -> list[Tested]:
    """The criteria of a schema as questions about doubles, whose counts `project` tells of each of many cliques."""
    found: list[Tested] = []
    for criterion in schema.demands.asked:
        if criterion.mean is None:
            tables = tables_of(schema.domain, criterion.tables)
            found.append(TablesWithin(criterion, tables, [t / t.sum() for t in project(tables)]))
            continue
        axis = schema.axis(criterion.mean)
        if axis.n_values < 2:
            raise UsageError(f"accept: column {criterion.mean!r} has one value, so its mean is known")
        (counts,) = project([(criterion.mean,)])
        values = axis.middles
        own = counts[: len(values)]
        found.append(MeanWithin(criterion, values, float(own @ values / max(float(own.sum()), 1e-12))))
    return found
