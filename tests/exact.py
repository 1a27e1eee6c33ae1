"""Exact answers of queries, for tests: nothing here is released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kagemusha.arrays import Codes, IntArray
from kagemusha.queries.query import Query, ReadsRecords
from kagemusha.release.curator import summed
from kagemusha.sources import Source


def answer_of(query: ReadsRecords[Any], columns: Sequence[Codes]) -> IntArray:
    """What a query over records makes of these, read at once."""
    return query.finish(query.part(columns))


def answer_over(query: Query[Any], source: Source) -> IntArray:
    """What the Curator would work out before it adds noise, over however many batches the source has."""
    marginals = source.count(list(query.cliques())) if query.cliques() else []
    return np.asarray(query.exact(marginals, lambda part: summed(source, part)))
