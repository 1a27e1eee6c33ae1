"""What an event says about the question behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kagemusha.errors import VerifyError

Fact = int | str | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True)
class QueryRecord:
    """Which question was answered: its kind, the facts its reach follows from, and a digest of all of it."""

    kind: str
    facts: tuple[tuple[str, Fact], ...]
    digest: str

    @classmethod
    def of(cls, kind: str, facts: Mapping[str, Fact], digest: str) -> QueryRecord:
        """From a mapping of facts."""
        return cls(kind, tuple(facts.items()), digest)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        facts = {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in self.facts}
        return {"kind": self.kind, "facts": facts, "digest": self.digest}

    @classmethod
    def from_json(cls, data: Any) -> QueryRecord:
        """Rebuild it; anything malformed is a VerifyError."""
        if not (isinstance(data, Mapping) and set(data) == {"kind", "facts", "digest"}):
            raise VerifyError("an event's query needs kind, facts and digest")
        kind, facts, digest = data["kind"], data["facts"], data["digest"]
        if not (isinstance(kind, str) and isinstance(digest, str) and isinstance(facts, Mapping)):
            raise VerifyError("an event's query is malformed")
        return cls(kind, tuple((str(name), _fact(value)) for name, value in facts.items()), digest)


def _fact(value: Any) -> Fact:
    if isinstance(value, list) and (all(is_whole(v) for v in value) or all(isinstance(v, str) for v in value)):
        return tuple(value)
    if is_whole(value) or isinstance(value, str):
        return value  # type: ignore[no-any-return]
    raise VerifyError("an event's query has a fact that is neither text nor whole numbers")


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
