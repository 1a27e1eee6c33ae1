"""How many rows break each rule of the schema, as one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.marginals import Marginal
from kagemusha.privacy.budget import QueryFact
from kagemusha.queries.query import ReadsMarginals
from kagemusha.schema import Clique, Schema
from kagemusha.schema.constraints import Determines
from kagemusha.schema.judging import broken, rules_in_force


@dataclass(frozen=True)
class NoisyBreaks:
    """Released numbers of rows: of all, and of those that break each rule.

    `sigma` is the deviation of the noise in each.
    """

    rows: int
    broken: Mapping[str, int]
    sigma: float


@dataclass(frozen=True, eq=False)
class BrokenRules(ReadsMarginals[NoisyBreaks]):
    """The number of rows, and of rows that break each rule in force; asked of a table as `sources.judged` shows it."""

    schema: Schema
    """The schema with the rules; that of the judged table follows from it (`schema.judging`)."""

    kind: ClassVar[str] = "broken-rules"
    what: ClassVar[str] = "rows that break each rule"
    proof: ClassVar[str] = (
        "Whether a row breaks a rule is seen from that row alone, so a record added to the table adds 1 to the rows "
        "and at most 1 to the count of each of k rules: Δ₁ = k + 1, Δ₂² = k + 1. Exchanged, the rows stay, and each "
        "count moves by 1 at most: Δ₁ = k, Δ₂² = k. Of a rule `a determines b` without a list, what is counted is Σ "
        "over a of (rows with a − rows with a's most frequent b): a record added adds 1 to the first, and 0 or 1 to "
        "the second, so this, too, moves by 0 or 1."
    )

    @property
    def facts(self) -> Mapping[str, QueryFact]:
        """How many rules there are."""
        return {"rules": len(rules_in_force(self.schema))}

    def cliques(self) -> Sequence[Clique]:
        """The rows, then for each rule the column that says who breaks it, or those it speaks of."""
        found: list[Clique] = [()]
        for rule in rules_in_force(self.schema):
            law = rule.law
            found.append((*law.given, law.column) if isinstance(law, Determines) else (broken(rule),))
        return found

    def values(self, marginals: Sequence[Marginal]) -> IntArray:
        """Rows first, then rule by rule."""
        rows, *judged = marginals
        counts = [int(rows.counts)]
        for rule, marginal in zip(rules_in_force(self.schema), judged, strict=True):
            table = marginal.counts
            usual = table.max(axis=-1) if isinstance(rule.law, Determines) else table[0]
            counts.append(int(table.sum() - usual.sum()))
        return np.array(counts, dtype=np.int64)

    def released(self, values: IntArray, deviation: float) -> NoisyBreaks:
        """Each number by its rule."""
        rules = (rule.rule for rule in rules_in_force(self.schema))
        return NoisyBreaks(int(values[0]), dict(zip(rules, map(int, values[1:]), strict=True)), deviation)

    def identity(self) -> list[str]:
        """The rules."""
        return [rule.rule for rule in rules_in_force(self.schema)]
