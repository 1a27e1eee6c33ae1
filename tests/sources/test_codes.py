"""Tables of codes count like any other source, and neighbours like tables that were changed row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kagemusha.encoding import Encoder
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.schema import Drop, Schema, Unit
from kagemusha.schema.images import image_schema
from kagemusha.sources import open_source
from kagemusha.sources.codes import CodesSource, Neighbour
from kagemusha.sources.images import open_images
from kagemusha.sources.protocol import Source
from kagemusha.synthesizers.contract import example_schema, example_table

CLIQUES = [(), ("sex",), ("age", "ward"), ("sex", "bmi", "ward"), ("sex",)]


def test_counts_are_those_of_the_frame() -> None:
    schema, table = example_schema(), example_table()
    frame, codes = open_source(table, schema), CodesSource(schema, Encoder(schema).encode(table).T, remember=10**6)
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
    near = Neighbour(CodesSource(schema, rows.T, remember=10**6), np.array([0, 7]), plus)
    assert isinstance(near, Source)
    afresh = CodesSource(schema, np.concatenate([np.delete(rows, [0, 7], axis=0), plus]).T)
    for a, b in zip(near.count(CLIQUES), afresh.count(CLIQUES), strict=True):
        assert (a.counts == b.counts).all()
    assert near.rows() == afresh.rows() == len(near.records()[1])
    assert all((a == b).all() for a, b in zip(near.records()[0], afresh.records()[0], strict=True))


def test_codes_of_another_width_or_outside_the_domain_are_refused() -> None:
    with pytest.raises(UsageError, match="columns"):
        CodesSource(example_schema(), np.zeros((2, 3), dtype=np.int64))
    width = len(example_schema().domain)
    with pytest.raises(DataError, match="outside"):
        CodesSource(example_schema(), np.full((width, 3), 10**6))


def test_pictures_with_a_column_of_persons_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", x=np.zeros((3, 2, 2), dtype=np.uint8))
    schema = Schema([Drop("id"), *image_schema(2, 2)], Unit("id", 2))
    with pytest.raises(SchemaError, match="persons"):
        open_images(tmp_path / "p.npz", schema)
    assert open_images(tmp_path / "p.npz", image_schema(2, 2)).rows() == 3
