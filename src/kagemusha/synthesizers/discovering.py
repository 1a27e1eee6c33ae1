"""What a fit must settle before private discovery: whether it was asked for, and how much a method can carry of it."""

from __future__ import annotations

from typing import Any

from kagemusha.errors import ModelTooLarge, UndeclaredDomain, UsageError
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.release.discovery import MOST_CATEGORIES, delta_share, largest_domain, require_discoverable
from kagemusha.schema import Schema
from kagemusha.schema.related import Related
from kagemusha.synthesizers.protocol import Synthesizer
from kagemusha.synthesizers.required import require_room

FEWEST_CATEGORIES = 8


def discovery_of(
    schema: Schema | Related, share: float | None, budget: Budget, accounting: Accounting
) -> dict[str, Any]:
    """What discovery will do, for the certificate; refuses what was not asked for or cannot be done."""
    facts = [str(fact) for fact in schema.open_facts()]
    every = [table.schema for table in schema] if isinstance(schema, Related) else [schema]
    if share is not None and not 0 < share < 1:
        raise UsageError(
            f"discover (--discover) must be greater than 0 and less than 1 (a share of the budget), got {share}"
        )
    if not facts:
        if share is not None:
            raise UsageError(
                f"discover (--discover) {share:g} has nothing to find: the schema leaves no categories or bounds open"
            )
        return {}
    if share is None:
        shown = ", ".join(facts[:5]) + (", …" if len(facts) > 5 else "")
        raise UndeclaredDomain(
            f"{len(facts)} facts of the schema are open ({shown}). Either declare them from public knowledge, or give "
            "private discovery a share of the budget to find them: discover=0.05 (--discover 0.05)"
        )
    for one in every:
        require_discoverable(one, share, accounting, finite=budget.is_finite)
    return {"discover": share, "delta_share": delta_share(*every), "discovered": facts}


def most_categories(schema: Schema, synthesizer: Synthesizer, budget: Budget) -> int:
    """How many categories of a column discovery may find: so few that the method can carry whatever comes of it.

    What it cannot carry even then is refused here, before anything is reserved.
    """
    most = MOST_CATEGORIES
    while True:
        try:
            domain = largest_domain(schema, most)
            synthesizer.plan(domain, budget)
            if schema.demands.required:
                require_room(synthesizer, schema, domain)
            return most
        except ModelTooLarge:
            if most <= FEWEST_CATEGORIES:
                raise
            most //= 2
