"""At most so many rows of a person stay, and which ones nobody else decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kagemusha.columns.values import plain
from kagemusha.schema import Category, Drop, Integer, Schema, Unit
from kagemusha.sources import open_source, open_table
from kagemusha.sources.bounding import Persons, person_text

COLUMNS = [Drop("id"), Category("ward", categories=("a", "b", "c")), Integer("stay", lower=0, upper=20)]
SCHEMA = Schema(COLUMNS, Unit("id", 3))
PAIR = ("ward", "stay")


def table(seed: int, persons: int = 60, most: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(persons), rng.integers(1, most + 1, persons))
    frame = pd.DataFrame({"id": ids, "ward": rng.choice(list("abcd"), len(ids)), "stay": rng.integers(0, 25, len(ids))})
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def containers(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    frame.to_csv(folder / "t.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "t.parquet")
    return {
        "pandas": frame,
        "objects": frame.astype(object),
        "floats": frame.assign(id=frame["id"].astype("Float64").to_numpy(float, na_value=np.nan)),
        "polars": pl.from_pandas(frame),
        "csv": folder / "t.csv",
        "parquet": folder / "t.parquet",
    }


def counts(where: Any, schema: Schema = SCHEMA) -> np.ndarray:
    return open_source(where, schema).count([PAIR])[0].counts


def test_every_container_keeps_the_same_rows(tmp_path: Path) -> None:
    frame = table(1)
    found = {name: counts(where) for name, where in containers(frame, tmp_path).items()}
    for name, marginal in found.items():
        assert np.array_equal(marginal, found["pandas"]), name
    assert found["pandas"].sum() == frame.groupby("id").size().clip(upper=3).sum()


@pytest.mark.parametrize("seed", range(8))
def test_one_person_more_or_less_moves_nobody_elses_rows(seed: int, tmp_path: Path) -> None:
    frame = table(seed)
    gone = frame["id"] == int(frame["id"].iloc[0])
    (tmp_path / "with").mkdir()
    without = containers(frame[~gone].reset_index(drop=True), tmp_path)
    for name, where in containers(frame, tmp_path / "with").items():
        step = counts(where) - counts(without[name])
        assert step.min() >= 0, "somebody else lost a row"
        assert step.sum() == min(3, int(gone.sum()))


def test_the_order_of_rows_does_not_matter() -> None:
    frame = table(3)
    assert np.array_equal(counts(frame), counts(frame.sample(frac=1, random_state=5).reset_index(drop=True)))


def test_rows_of_nobody_are_left_out(tmp_path: Path) -> None:
    frame = table(4, persons=10, most=2)
    frame["id"] = frame["id"].astype("Int64")
    frame.loc[:4, "id"] = pd.NA
    kept = frame.dropna(subset="id").groupby("id").size().clip(upper=3).sum()
    for name, where in containers(frame, tmp_path).items():
        assert counts(where).sum() == kept, name


def test_persons_are_told_apart_the_same_way_in_every_type() -> None:
    assert {person_text(plain(v)) for v in (7, 7.0, np.int64(7), "7")} == {"7"}
    for nobody in (None, float("nan"), "", pd.NA, 2**53, float(2**60), np.int64(2**53)):
        assert person_text(plain(nobody)) is None
    assert person_text(str(2**60)) == str(2**60)


def test_records_say_whose_they_are(tmp_path: Path) -> None:
    frame = table(5)
    for where in containers(frame, tmp_path).values():
        columns, persons = open_source(where, SCHEMA).records()
        assert np.bincount(persons).max() == 3
        assert sorted(np.bincount(persons)) == sorted(frame.groupby("id").size().clip(upper=3))
        assert len(columns[0]) == len(persons)


def test_values_are_discovered_within_the_bound(tmp_path: Path) -> None:
    open_schema = Schema([Drop("id"), Category("ward"), Integer("stay", lower=0, upper=20)], Unit("id", 3))
    found = []
    frame = table(6)
    for where in containers(frame, tmp_path).values():
        values = open_table(where, open_schema).count_values("ward")
        found.append(dict(zip(values.labels, values.counts.tolist(), strict=True)))
    assert all(one == found[0] for one in found)
    assert sum(found[0].values()) == frame.groupby("id").size().clip(upper=3).sum()


def test_without_a_column_nothing_is_left_out() -> None:
    frame = table(7)
    known = Schema(COLUMNS, Unit(max_rows=40))
    assert counts(frame, known).sum() == len(frame)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_table_of_nobodies_is_a_table(rows: int, tmp_path: Path) -> None:
    """Whether there is anybody at all is one person's secret.

    No rows, rows of nobody, and one person are neighbours.
    """
    nobody = table(1).head(rows).assign(id=pd.array([None] * rows, dtype="Int64"))
    for name, where in containers(nobody, tmp_path).items():
        source = open_source(where, SCHEMA)
        assert source.count([PAIR])[0].counts.sum() == 0, name
        columns, persons = source.records()
        assert len(columns[0]) == len(persons) == 0


def test_whole_numbers_are_numbered_as_all_other_values_are() -> None:
    """In one go they get the names that they get one by one, also where some were known before."""
    values = [5.0, -0.0, 0.0, 7.0, 5.0, -3.0, 2.0**53 - 1, 1e15]
    for first in ([], ["7", "x"], [7.0, 1.5], ["5.0"]):
        known = Persons()
        known.number(first)
        numbers = known.number(values)
        assert [known.names[number] for number in numbers] == [person_text(value) for value in values]
        assert len(set(known.names)) == len(known.names)
    lost = [float("nan"), 2.0**53, float("inf"), None]
    assert Persons().number([5.0, *lost, 6.0, "5"]).tolist() == [0, -1, -1, -1, -1, 1, 0]
