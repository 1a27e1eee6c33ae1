"""What the adversary knows, apart from what is done with it.

The same attack is a different claim under another threat.
"""

from __future__ import annotations

from dataclasses import dataclass

from kagemusha.errors import UsageError

TABLE, ALGORITHM, ROWS, MEASUREMENTS = "table", "algorithm", "rows", "measurements"

KNOWLEDGE = {
    TABLE: "every row of the table but whether the target is in it",
    ALGORITHM: "the algorithm and its settings, so that it can be run on tables of one's own (never the trained model)",
    ROWS: "how many rows were released, where nobody fixed that number beforehand",
    MEASUREMENTS: "every released number, not only the doubles (white box)",
}
"""What an attack may need, in words."""


@dataclass(frozen=True)
class Threat:
    """An adversary. The default is the paper's: all of the table, the algorithm, the doubles."""

    knows: frozenset[str] = frozenset({TABLE, ALGORITHM})
    sees_table_first: bool = True
    """Whether the target is chosen after seeing the table; without that only `blind` targets are allowed."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.knows) - set(KNOWLEDGE))
        if unknown:
            raise UsageError(f"an adversary can know {', '.join(KNOWLEDGE)}; got {unknown[0]!r}")

    def require(self, attack: str, needs: frozenset[str]) -> None:
        """Refuse an attack that needs more than this adversary knows."""
        missing = sorted(needs - self.knows)
        if missing:
            raise UsageError(f"attack {attack!r} needs to know {KNOWLEDGE[missing[0]]}; this adversary does not")

    def in_words(self) -> str:
        """The adversary in a sentence."""
        known = "; ".join(KNOWLEDGE[one] for one in KNOWLEDGE if one in self.knows) or "nothing but the doubles"
        when = "after" if self.sees_table_first else "before"
        return f"The adversary knows {known}; and chooses the target {when} seeing the table."


PAPER = Threat()
COUNTING = Threat(frozenset({TABLE, ALGORITHM, ROWS}))
BLIND = Threat(sees_table_first=False)
