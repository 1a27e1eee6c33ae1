"""What the custodian is willing to promise: (ε, δ), to whom, and how far such a person moves an answer.

A query says what *one record* can do to its answer (`RecordSensitivity`). The privacy unit turns that into a
sensitivity. This is the only place where an adjacency, or the rows of a person, become a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kagemusha.errors import UsageError, VerifyError
from kagemusha.schema.unit import MOST_ROWS
from kagemusha.words.catalogue import Say

MOST_DELTA = 1e-5
"""The largest δ of a promise. With probability δ anything may be revealed, a whole record too: above this, somebody in
a table of a hundred thousand people could be expected to be. Customary are values far below 1 / number of people."""


class Adjacency(StrEnum):
    """The neighbouring relation.

    `add-remove`: one record is present or not; the number of rows is private.
    `replace`: one record is exchanged for another; the number of rows is public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @classmethod
    def named(cls, name: str) -> Adjacency:
        """The adjacency of that name; any other name is a UsageError."""
        try:
            return cls(name)
        except ValueError:
            raise UsageError(f"adjacency must be one of {', '.join(cls)}, got {name!r}") from None


@dataclass(frozen=True)
class Sensitivity:
    """How far a vector of integers can move: in L1, in L2 (kept squared, so that it is exact), and in any one entry."""

    l1: int
    l2_squared: int
    each: int


@dataclass(frozen=True)
class RecordSensitivity:
    """How far one record can move an answer: when it is added or taken away, and when another takes its place."""

    added: Sensitivity
    exchanged: Sensitivity


@dataclass(frozen=True)
class PrivacyUnit:
    """Who is protected: someone with at most `rows` rows, under a neighbouring relation."""

    relation: Adjacency = Adjacency.ADD_REMOVE
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Adjacency.named(self.relation))
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or not 1 <= self.rows <= MOST_ROWS:
            raise UsageError(f"max_rows must be a whole number from 1 to {MOST_ROWS:,}, got {self.rows!r}")

    def sensitivity(self, reach: RecordSensitivity) -> Sensitivity:
        """How far everything the unit holds can move an answer.

        Add-remove: k rows come or go one after the other, and each step moves the answer by at most `added`; by the
        triangle inequality the whole by k times that. Replace: one row is exchanged for one. With several rows, someone
        with up to k rows takes the place of someone with up to k rows: rows are exchanged in pairs, and those left over
        come or go, at most k steps in all, each by at most the larger of the two.
        """
        one = reach.added
        if self.relation is Adjacency.REPLACE:
            one = reach.exchanged if self.rows == 1 else _larger(reach.added, reach.exchanged)
        return Sensitivity(self.rows * one.l1, self.rows**2 * one.l2_squared, self.rows * one.each)

    def of_rows(self, rows: int) -> PrivacyUnit:
        """The same people where each row of theirs is up to so many rows, as in tables below (`sources.steps`)."""
        return self if rows == 1 else PrivacyUnit(self.relation, self.rows * rows)

    @property
    def rows_are_public(self) -> bool:
        """Whether the exact number of rows may be used and published: no neighbour has another number."""
        return self.relation is Adjacency.REPLACE and self.rows == 1

    @property
    def in_words(self) -> str:
        """What the promise hides, as one clause for a reader who is not an expert."""
        whose = "record is" if self.rows == 1 else f"records, up to {self.rows:,} of them, are"
        if self.relation is Adjacency.ADD_REMOVE:
            return f"whether any one person's {whose} in the table or not"
        if self.rows == 1:
            return "what any one person's record says, in a table whose number of rows is public"
        return f"whose records, up to {self.rows:,} of them, stand in the place of any one person's"

    def __str__(self) -> str:
        return str(self.relation) if self.rows == 1 else f"{self.relation} of {self.rows} rows"


def _larger(one: Sensitivity, other: Sensitivity) -> Sensitivity:
    return Sensitivity(max(one.l1, other.l1), max(one.l2_squared, other.l2_squared), max(one.each, other.each))


QueryFact = int | str | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True)
class QueryRecord:
    """Which question was answered: its kind, the facts its reach follows from, and a digest of all of it.

    Of several related tables, also which `table` was asked, and as how many `rows` there a record counts, at most.
    """

    kind: str
    facts: tuple[tuple[str, QueryFact], ...]
    digest: str
    table: str = ""
    rows: int = 1

    @classmethod
    def of(cls, kind: str, facts: Mapping[str, QueryFact], digest: str) -> QueryRecord:
        """From a mapping of facts."""
        return cls(kind, tuple(facts.items()), digest)

    def asked(self, what: str, table: str, rows: int) -> tuple[str, QueryRecord]:
        """What is asked, and this, of one of several tables; as they are where there is one (its name is empty)."""
        return (f"{table}: {what}", replace(self, table=table, rows=rows)) if table else (what, self)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        facts = {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in self.facts}
        where = {"table": self.table, "rows": self.rows} if self.table else {}
        return {"kind": self.kind, "facts": facts, "digest": self.digest, **where}

    @classmethod
    def from_json(cls, data: Any) -> QueryRecord:
        """Rebuild it; anything malformed is a VerifyError."""
        named = {"kind", "facts", "digest"}
        if not (isinstance(data, Mapping) and set(data) in (named, named | {"table", "rows"})):
            raise VerifyError("an event's query needs kind, facts and digest")
        kind, facts, digest = data["kind"], data["facts"], data["digest"]
        table, rows = data.get("table", ""), data.get("rows", 1)
        if not (isinstance(kind, str) and isinstance(digest, str) and isinstance(facts, Mapping)):
            raise VerifyError("an event's query is malformed")
        if not (
            isinstance(table, str) and is_whole(rows) and 1 <= rows <= MOST_ROWS and bool(table) == ("table" in data)
        ):
            raise VerifyError("an event's query is of no table")
        return cls(kind, tuple((str(name), _fact(value)) for name, value in facts.items()), digest, table, rows)


def _fact(value: Any) -> QueryFact:
    if isinstance(value, list) and (all(is_whole(v) for v in value) or all(isinstance(v, str) for v in value)):
        return tuple(value)
    if is_whole(value) or isinstance(value, str):
        return value  # type: ignore[no-any-return]
    raise VerifyError("an event's query has a fact that is neither text nor whole numbers")


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) promise.

    `epsilon` is a positive number (infinity only for methods without protection), `delta` lies in [0, 1);
    δ = 0 asks for pure differential privacy, which only Laplace and exponential mechanisms can give. `rows` is how
    many rows of one person the promise covers; a release takes it from the schema.
    """

    epsilon: float
    delta: float = 1e-9
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, int | float) and self.epsilon > 0):
            raise UsageError(f"epsilon must be greater than 0, got {self.epsilon}")
        if not (isinstance(self.delta, int | float) and 0 <= self.delta < 1):
            raise UsageError(f"delta must be at least 0 and less than 1, got {self.delta}")
        if self.delta and self.delta < 1e-15:
            raise UsageError(f"delta must be 0 or at least 1e-15, got {self.delta}")
        object.__setattr__(self, "adjacency", self.unit.relation)

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return PrivacyUnit(self.adjacency, self.rows)

    @property
    def is_finite(self) -> bool:
        """False for ε = ∞: no promise at all."""
        return math.isfinite(self.epsilon)

    def in_words(self, say: Say = str.format) -> str:
        """The promise as a short phrase."""
        return say(
            "ε = {epsilon}, δ = {delta:g}, {adjacency} adjacency{whom}",
            epsilon=f"{self.epsilon:g}" if self.is_finite else "∞",
            delta=self.delta,
            adjacency=self.adjacency,
            whom="" if self.rows == 1 else say(", for persons of up to {rows} rows", rows=self.rows),
        )


def require_promise(budget: Budget) -> None:
    """Refuse a finite budget whose promise `verify` would not accept, before anything is paid for it."""
    if budget.is_finite and budget.delta > MOST_DELTA:
        raise UsageError(
            f"delta (--delta) must be at most {MOST_DELTA:g}, got {budget.delta:g}: `verify` refuses a promise that "
            f"fails more often"
        )
