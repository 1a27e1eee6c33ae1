"""Paid acceptance: the criteria of the schema, tested on the real table for their share of the budget.

What is tested is the model that doubles are drawn from, after everything else was made of it: rows drawn from it
scatter around its tables as rounding lets them.
"""

from __future__ import annotations

from typing import Any

from kagemusha.generators.generator import Generator
from kagemusha.models.accepted import answered
from kagemusha.models.doubles import Doubles
from kagemusha.queries.acceptance import asked
from kagemusha.release.curator import Curator


def tested(curator: Curator, generator: Generator, mechanism: str) -> dict[str, Any]:
    """The answer to each criterion, for the certificate; each is charged before the table is read."""
    schema = curator.schema
    queries = asked(schema, Doubles(schema, generator).project_many)
    left = curator.remaining / schema.demands.tested if queries else 0.0
    costs = [left * one.share for one in schema.demands.asked]
    excesses = curator.answer(queries, costs, mechanism=mechanism) if queries else []
    return {"acceptance": answered(schema.demands.accept, queries, excesses, generator.total)}
