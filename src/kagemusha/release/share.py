"""What one of several related tables has of a release, or a method between what comes before and after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kagemusha.marginals import NoisyMarginal
from kagemusha.privacy.budget import QueryRecord


@dataclass(frozen=True)
class Share:
    """Which table the Curator asks, and how much of the budget it may use."""

    table: str = ""
    """Its name; empty where there is one table."""
    rows: int = 1
    """As how many rows of it a record counts, at most."""
    kept_back: float = 0.0
    """What must be left of the budget for other tables, or for what comes after the method."""
    required: tuple[NoisyMarginal, ...] = ()
    """Tables that must be right: released already, and nobody asks for them again."""

    def asked(self, what: str, query: QueryRecord) -> tuple[str, QueryRecord]:
        """What a query asks, and of which table."""
        if not self.table:
            return what, query
        return f"{self.table}: {what}", replace(query, table=self.table, rows=self.rows)


WHOLE = Share()
