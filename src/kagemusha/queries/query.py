"""One question to a private table: what is counted, the exact answer in integers, and what one record can do to it.

A query knows neither noise nor ledger, and nothing of adjacency: it says how far *one record* moves its answer, from
whole numbers (`facts`) that stand on the certificate. `PrivacyUnit` turns that into a sensitivity.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.marginals import Marginal, NoisyMarginal
from kagemusha.privacy.budget import QueryFact, QueryRecord, RecordSensitivity
from kagemusha.privacy.query_kinds import record_sensitivity
from kagemusha.schema.domain import Clique, Domain

Released = TypeVar("Released", covariant=True)

CLEARLY = 4.0
"""Deviations of its noise that a count must have to be spoken of: noise alone gets there in 3 of 100,000 cases."""

Part = Callable[[Sequence[Codes]], IntArray]
"""What some records (codes, column by column) add to a sum: whole numbers, so that the sum of the parts is the same
however a table is cut into batches, and in whatever order its rows come."""


class Query(ABC, Generic[Released]):
    """A vector of integers computed from exact marginals, or from sums over records.

    `kind` names it for ever (see `privacy.query_kinds`), `proof` says why its sensitivity holds. Everything a query is
    made of is public: declared, or released before.
    """

    kind: ClassVar[str]
    proof: ClassVar[str]

    @property
    @abstractmethod
    def what(self) -> str:
        """What is asked, in words for the certificate."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, QueryFact]:
        """The whole numbers (and names) that the sensitivity follows from."""

    @abstractmethod
    def cliques(self) -> Sequence[Clique]:
        """The marginals that must be counted first."""

    @abstractmethod
    def exact(self, marginals: Sequence[Marginal], summed: Callable[[Part], IntArray]) -> IntArray:
        """The exact, private answer, flat.

        From the marginals of `cliques`, or from parts that `summed` adds up over all records.
        """

    @abstractmethod
    def released(self, values: IntArray, deviation: float) -> Released:
        """The noisy answer as the world may see it; `deviation` is that of the noise in an entry."""

    def identity(self) -> Any:
        """All that tells this question from others of its kind, as plain data; the numbers of a model are left out."""
        return [list(clique) for clique in self.cliques()]

    @cached_property
    def sensitivity(self) -> RecordSensitivity:
        """How far one record can move the answer."""
        return record_sensitivity(self.kind, self.facts)

    @cached_property
    def record(self) -> QueryRecord:
        """What an event says about this query."""
        text = json.dumps([self.kind, self.what, self.identity()], ensure_ascii=False, separators=(",", ":"))
        return QueryRecord.of(
            self.kind, self.facts, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        )


class ReadsMarginals(Query[Released]):
    """A query whose exact answer follows from counts."""

    @abstractmethod
    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The exact, private answer, from the marginals in the order of `cliques`."""

    def exact(self, marginals: Sequence[Marginal], summed: Callable[[Part], IntArray]) -> IntArray:
        return self.values(marginals)


class ReadsRecords(Query[Released]):
    """A query whose exact answer needs whole records: a sum over them, and what is made of the whole sum.

    Only `part` sees records, and it must add up: part(A and B) = part(A) + part(B), entry by entry. Whatever does not
    add up (a length, a distance) belongs into `finish`, which is called once, with the sum over the whole table.
    """

    @abstractmethod
    def part(self, columns: Sequence[Codes]) -> IntArray:
        """What these records add, in whole numbers."""

    def finish(self, total: IntArray) -> IntArray:
        """The exact, private answer from the sum of all parts."""
        return total

    def cliques(self) -> Sequence[Clique]:
        """None."""
        return ()

    def exact(self, marginals: Sequence[Marginal], summed: Callable[[Part], IntArray]) -> IntArray:
        """See `part` and `finish`."""
        return self.finish(summed(self.part))


class Choice(Query[Released]):
    """A query of one score per candidate, from which one candidate may be chosen."""

    @property
    @abstractmethod
    def options(self) -> Sequence[tuple[str, ...]]:
        """What each score stands for: the names that are stored when it is chosen."""

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """How many candidates there are."""
        return {"candidates": len(self.options)}


@dataclass(frozen=True)
class Counts(ReadsMarginals[NoisyMarginal]):
    """How many records have each combination of codes; `word` is what the certificate calls it."""

    domain: Domain
    clique: Clique
    word: str = "counts"

    kind: ClassVar[str] = "counts"
    proof: ClassVar[str] = (
        "One record is in exactly one cell of a marginal. Added or taken away it moves the counts by Δ₁ = 1, Δ₂² = 1; "
        "exchanged it leaves one cell and enters another, Δ₁ = 2, Δ₂² = 2."
    )

    @property
    def what(self) -> str:
        """Counts of these columns."""
        return f"{self.word} of {label(self.clique)}"

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """The columns."""
        return {"columns": tuple(self.clique)}

    def cliques(self) -> Sequence[Clique]:
        """One marginal."""
        return [self.clique]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The counts."""
        return marginals[0].counts.ravel()

    def released(self, values: IntArray, deviation: float) -> NoisyMarginal:
        """A noisy marginal."""
        return NoisyMarginal(self.clique, values.reshape(self.domain.shape(self.clique)), deviation)


@dataclass(frozen=True)
class NoisyStrays:
    """Released numbers of cells that are out of place, by column; `sigma` is the deviation of the noise in each."""

    cells: Mapping[str, int]
    sigma: float

    @property
    def seen(self) -> dict[str, int]:
        """Those that noise alone would hardly show."""
        return {name: count for name, count in self.cells.items() if count > CLEARLY * self.sigma}


@dataclass(frozen=True, eq=False)
class Strays(ReadsMarginals[NoisyStrays]):
    """For each column the cells that have no value of its domain; asked of a table declared by `schema.of_strays`."""

    domain: Domain

    kind: ClassVar[str] = "strays"
    what: ClassVar[str] = "cells that are blank, unreadable, outside or unlisted, by column"
    proof: ClassVar[str] = (
        "Whether a cell is out of place is seen from that cell alone, so a record added to the table adds 0 or 1 to "
        "the count of each of k columns: Δ₁ = k, Δ₂² = k. Exchanged, each count moves by 1 at most: the same. A person "
        "of m rows moves each count by m at most. All counts are one vector, and are paid for as one."
    )

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """How many columns there are."""
        return {"entries": len(self.domain)}

    def cliques(self) -> Sequence[Clique]:
        """Each column by itself."""
        return [(name,) for name in self.domain.names]

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """The last code is that of strays."""
        return np.array([marginal.counts[-1] for marginal in marginals], dtype=np.int64)

    def released(self, values: IntArray, deviation: float) -> NoisyStrays:
        """Each number by its column."""
        return NoisyStrays(dict(zip(self.domain.names, map(int, values), strict=True)), deviation)


def label(clique: Clique) -> str:
    """Columns as words."""
    return " × ".join(clique) if clique else "number of rows"
