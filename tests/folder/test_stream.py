"""Doubles drawn in chunks: the statistics of one draw, whatever the chunks and the cores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kagemusha import fit
from kagemusha.errors import UsageError
from kagemusha.folder.stream import stream
from kagemusha.folder.table_file import _Feed, write_tables
from kagemusha.graphical import MarkovField, rounded_tables, sample_rounded
from kagemusha.models.model import Model
from kagemusha.schema import Category, Date, Integer, Schema, Surrogate
from kagemusha.schema.domain import Domain

SCHEMA = Schema(
    [
        Surrogate("nr", prefix="d", digits=6),
        Category("ward", categories=("a", "b", "c")),
        Integer("stay", lower=0, upper=9, missing=True),
        Date("day", lower="2020-01-01", upper="2020-12-31", bins=4),
    ]
)


@pytest.fixture(scope="module")
def model() -> Model:
    rng = np.random.default_rng(0)
    n = 4_000
    ward = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame(
        {
            "nr": range(n),
            "ward": np.array(list("abc"))[ward],
            "stay": np.minimum(9, ward * 3 + rng.integers(0, 4, n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"),
        }
    )
    return fit("kage", frame, 10.0, schema=SCHEMA, simulation=1)


def field(seed: int = 0, sizes: tuple[int, ...] = (3, 4, 2, 5, 3)) -> MarkovField:
    rng = np.random.default_rng(seed)
    names = tuple("abcde"[: len(sizes)])
    domain = Domain(names, sizes)
    pairs = [("a", "b"), ("b", "c"), ("b", "d"), ("d", "e"), ("a", "c")]
    potentials = {p: rng.normal(size=domain.shape(p)) for p in pairs if set(p) <= set(names)}
    return MarkovField.build(domain, 100.0, potentials)


@pytest.mark.parametrize("sizes", [[700, 1, 299], [1000], [250] * 4, [0, 1000]])
def test_the_hands_of_a_draw_are_the_draw(sizes: list[int]) -> None:
    """Dealt in hands or at once, the counts over every clique of the tree are those that were fixed first."""
    one = field()
    tables = rounded_tables(one, 1000, np.random.default_rng(1))
    hands = [
        hand.rows(np.random.default_rng(i)) for i, hand in enumerate(tables.hands(sizes, np.random.default_rng(2)))
    ]
    assert [len(hand) for hand in hands] == sizes
    whole = tables.rows(np.random.default_rng(3))
    for clique in one.tree.cliques:
        axes = [one.domain.axis(name) for name in clique]
        together = Counter(map(tuple, np.concatenate(hands)[:, axes].tolist()))
        assert together == Counter(map(tuple, whole[:, axes].tolist())), clique


def test_a_hand_is_a_random_part_of_the_rows() -> None:
    """The cell counts of a hand have the mean and the variance of drawing without replacement, by brute force."""
    one = field(sizes=(2, 3, 2))
    tables = rounded_tables(one, 60, np.random.default_rng(5))
    rng = np.random.default_rng(6)
    first = np.array(
        [
            [_count(next(tables.hands([20, 40], rng)).rows(rng), c) for c in product(range(2), range(3))]
            for _ in range(1000)
        ]
    )
    brute = np.array(
        [[_count(_part(tables.rows(rng), 20, rng), c) for c in product(range(2), range(3))] for _ in range(1000)]
    )
    error = np.sqrt(brute.var(axis=0) / 1000) * 5 + 1e-9
    assert np.all(np.abs(first.mean(axis=0) - brute.mean(axis=0)) <= 2 * error)
    assert np.allclose(first.var(axis=0), brute.var(axis=0), rtol=0.2, atol=0.05)


def _part(rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return rows[rng.permutation(len(rows))[:size]]


def _count(rows: np.ndarray, cell: tuple[int, ...]) -> int:
    return int((rows[:, :2] == cell).all(axis=1).sum())


def test_chunks_are_as_near_to_the_model_as_one_draw() -> None:
    """64 chunks drawn by themselves would be eight times as far off; dealt from one draw they are not."""
    one = field(3)
    rows, parts = 64_000, 64

    def off(codes: np.ndarray) -> float:
        distance = 0.0
        for pair in [("a", "b"), ("b", "c"), ("b", "d"), ("d", "e"), ("a", "c")]:
            counts = np.zeros(one.domain.shape(pair))
            np.add.at(counts, tuple(codes[:, one.domain.axis(name)] for name in pair), 1)
            distance += float(np.abs(counts - one.project(pair) * (rows / one.total)).sum())
        return distance

    at_once, dealt, apart = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        at_once.append(off(sample_rounded(one, rows, rng=rng)))
        hands = rounded_tables(one, rows, rng).hands([rows // parts] * parts, rng)
        dealt.append(off(np.concatenate([hand.rows(rng) for hand in hands])))
        apart.append(off(np.concatenate([sample_rounded(one, rows // parts, rng=rng) for _ in range(parts)])))
    assert np.mean(dealt) < 1.25 * np.mean(at_once)
    assert np.mean(apart) > 3 * np.mean(dealt)


def test_the_same_rows_on_any_number_of_cores(model: Model) -> None:
    tables = [
        pa.concat_tables(stream(model, 5_000, rng=np.random.default_rng(4), jobs=jobs, chunk=700)) for jobs in (1, 3)
    ]
    assert tables[0].equals(tables[1])
    assert tables[0]["nr"].to_pylist() == [f"d{i:06d}" for i in range(1, 5_001)]


def test_a_small_table_is_that_of_sample(model: Model) -> None:
    (one,) = stream(model, 300, rng=np.random.default_rng(8))
    assert one.equals(model.sample(300, rng=np.random.default_rng(8), like="pyarrow"))


def test_a_condition_holds_in_every_chunk(model: Model) -> None:
    for table in stream(model, 3_000, where="ward = 'c' and stay > 5", chunk=500):
        assert set(table["ward"].to_pylist()) == {"c"}
        assert min(table["stay"].to_pylist()) > 5


@pytest.mark.parametrize("method", ["gaussian", "privbayes"])
def test_every_kind_of_generator_streams(method: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"ward": rng.choice(list("abc"), 500), "stay": rng.integers(0, 10, 500)})
    schema = Schema([SCHEMA["ward"], SCHEMA["stay"]])
    made = fit(method, frame, 5.0, schema=schema, simulation=1)
    table = pa.concat_tables(stream(made, 9_000, chunk=2_000))
    assert table.num_rows == 9_000
    expected = made.project(("ward",)) / made.generator.total
    found = Counter(table["ward"].to_pylist())
    for code, name in enumerate("abc"):
        assert abs(found[name] / 9_000 - expected[code]) < 0.03


def test_files_are_written_chunk_by_chunk(model: Model, tmp_path: Path) -> None:
    for name in ("t.parquet", "t.csv"):
        assert write_tables(stream(model, 5_000, rng=np.random.default_rng(1), chunk=900), tmp_path / name) == 5_000
    parquet = pq.read_table(tmp_path / "t.parquet").to_pandas()
    text = pd.read_csv(tmp_path / "t.csv")
    assert len(parquet) == len(text) == 5_000
    assert parquet["ward"].tolist() == text["ward"].tolist()
    assert parquet["nr"].tolist() == text["nr"].tolist()


def test_what_goes_wrong_while_drawing_is_told_and_leaves_nothing(model: Model, tmp_path: Path) -> None:
    def broken(error: BaseException):
        yield pa.table({"a": [1]})
        raise error

    for error in (UsageError("no such double"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write_tables(broken(error), tmp_path / "t.csv")
        assert list(tmp_path.iterdir()) == []


def test_no_error_passes_through_the_writer(tmp_path: Path) -> None:
    """DuckDB can wait for ever for a task that ended in one."""

    def broken() -> Iterator[Any]:
        yield pa.table({"a": [1]})
        raise KeyboardInterrupt

    feed = _Feed(broken(), safe=False)
    assert [batch.num_rows for batch in feed] == [1]
    assert isinstance(feed.error, KeyboardInterrupt)
