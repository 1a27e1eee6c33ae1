"""Tables of codes count like any other source, and neighbours like tables that were changed row by row."""

from __future__ import annotations

import numpy as np
import pytest

from kagemusha.encoding import Encoder
from kagemusha.errors import UsageError
from kagemusha.sources import open_source
from kagemusha.sources.codes import CodesSource, Neighbour
from kagemusha.sources.protocol import Source
from kagemusha.synthesizers.contract import example_schema, example_table

CLIQUES = [(), ("sex",), ("age", "ward"), ("sex", "bmi", "ward"), ("sex",)]


def test_counts_are_those_of_the_frame() -> None:
    schema, table = example_schema(), example_table()
    frame, codes = open_source(table, schema), CodesSource(schema, Encoder(schema).encode(table))
    assert isinstance(codes, Source)
    for _ in range(2):  # the second time from memory
        for a, b in zip(frame.count(CLIQUES), codes.count(CLIQUES), strict=True):
            assert a.clique == b.clique
            assert (a.counts == b.counts).all()
    assert codes.rows() == frame.rows()
    assert all((a == b).all() for a, b in zip(codes.records()[0], frame.records()[0], strict=True))


def test_neighbours_count_as_if_made_afresh() -> None:
    schema = example_schema()
    rows = Encoder(schema).encode(example_table())
    plus = rows[[3, 3, 9]]
    near = Neighbour(CodesSource(schema, rows), np.array([0, 7]), plus)
    assert isinstance(near, Source)
    afresh = CodesSource(schema, np.concatenate([np.delete(rows, [0, 7], axis=0), plus]))
    for a, b in zip(near.count(CLIQUES), afresh.count(CLIQUES), strict=True):
        assert (a.counts == b.counts).all()
    assert near.rows() == afresh.rows() == len(near.records()[1])
    assert all((a == b).all() for a, b in zip(near.records()[0], afresh.records()[0], strict=True))


def test_codes_of_another_width_are_refused() -> None:
    with pytest.raises(UsageError, match="columns"):
        CodesSource(example_schema(), np.zeros((3, 2), dtype=np.int64))
