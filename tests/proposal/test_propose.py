"""The draft: what it takes a column for, that every fact is marked, and that hostile tables are quick."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from kagemusha.columns.moment import Moment
from kagemusha.encoding import Encoder
from kagemusha.errors import DataError
from kagemusha.proposal import propose
from kagemusha.proposal.moments import FORMATS
from kagemusha.proposal.propose import propose_kinds
from kagemusha.schema import Category, Schema, Unit
from kagemusha.schema.lint import check

ROWS = 400


def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    day = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    return pd.DataFrame(
        {
            "id": range(1000, 1000 + ROWS),
            "sex": rng.choice(["F", "M"], ROWS),
            "answer": rng.choice(["yes", "no", None], ROWS),
            "age": rng.integers(17, 91, ROWS),
            "children": rng.choice([0, 1, 2, np.nan], ROWS),
            "bmi": np.round(rng.normal(25, 4, ROWS), 1),
            "admitted": day,
            "stamp": day + pd.to_timedelta(rng.integers(0, 86400, ROWS), unit="s"),
            "german": [f"{d:02d}.{m:02d}.2021" for d, m in rng.integers(1, 13, (ROWS, 2))],
            "smoker": rng.random(ROWS) < 0.5,
            "zip": [f"0{z}" for z in rng.integers(1000, 1020, ROWS)],
            "note": [f"text {i}" for i in range(ROWS)],
            "mixed": [i if i % 2 else [i] for i in range(ROWS)],
            "nothing": [None] * ROWS,
        }
    )


KINDS = {
    "id": "drop",
    "sex": "category",
    "answer": "category",
    "age": "integer",
    "children": "integer",
    "bmi": "real",
    "admitted": "date",
    "stamp": "datetime",
    "german": "date",
    "smoker": "boolean",
    "zip": "category",
    "note": "drop",
    "mixed": "drop",
    "nothing": "drop",
}


def test_kinds_bounds_and_marks():
    schema = propose(table())
    assert {column.name: column.kind for column in schema} == KINDS
    assert (schema["age"].lower, schema["age"].upper, schema["age"].bins) == (15, 90, 32)
    assert schema["bmi"].decimals == 1
    assert schema["children"].missing
    assert schema["answer"].missing
    assert schema["german"].format == "%d.%m.%Y"
    assert schema["admitted"].lower == date(2020, 1, 1)
    assert schema["stamp"].upper == datetime(2022, 12, 31, 23, 59, 59)
    assert all("kind" in column.derived for column in schema)
    assert {"categories", "missing"} <= set(schema["sex"].derived)
    assert {finding.column for finding in check(schema)} == set(KINDS)
    assert Schema.loads(schema.dumps()) == schema
    assert Encoder(schema).encode(table()).shape == (ROWS, 10)


def test_a_csv_is_drafted_from_text(tmp_path):
    frame = table().drop(columns=["mixed"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    schema = propose(tmp_path / "t.csv")
    found = {column.name: column.kind for column in schema}
    expected = {name: kind for name, kind in KINDS.items() if name != "mixed"}
    # pandas writes True and False, which are words like any others: kept as categories they come out the same.
    assert found == expected | {"smoker": "category"}
    assert schema["stamp"].format == "%Y-%m-%d %H:%M:%S"


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, lambda data: pl.DataFrame(data).lazy()])
def test_any_frame(make):
    schema = propose(make({"a": [1, 2, 3], "b": ["x", "y", "x"]}))
    assert [column.kind for column in schema] == ["integer", "category"]


def test_numbers_written_with_gaps_are_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,0.5\nNA,?\n3,1.25\n")
    schema = propose(tmp_path / "t.csv")
    assert (schema["a"].kind, schema["a"].missing) == ("integer", True)
    assert (schema["b"].kind, schema["b"].missing, schema["b"].decimals) == ("real", True, 2)


def test_a_million_categories_and_ten_thousand_columns_are_quick():
    assert propose(pa.table({"x": [f"v{i}" for i in range(1_000_000)]}))["x"].kind == "drop"
    wide = pa.table({f"c{i}": [1, 2, 3] for i in range(10_000)})
    assert len(propose(wide)) == 10_000


@pytest.mark.parametrize(
    "bad", [pd.DataFrame({"a": []}), pd.DataFrame(), 7, [1, 2], pd.DataFrame([[1, 2]], columns=["a", "a"])]
)
def test_what_is_no_table_is_refused(bad):
    with pytest.raises(DataError):
        propose(bad)


def test_extreme_numbers():
    schema = propose(pa.table({"a": [1e-300, 2e-300, 1.5e-300], "b": [1e305, -1.0, 2.5], "c": [0.1, 0.1, 0.1]}))
    assert [column.kind for column in schema] == ["real", "real", "real"]
    assert schema.domain.sizes == (32, 32, 32)


def test_a_file_without_a_header_is_suspected(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("39,F,2.5\n41,M,3.5\n44,F,1.5\n")
    assert [f.column for f in check(propose(tmp_path / "people.csv")) if "no header line" in f.text] == ["39", "2.5"]


def test_decimal_commas_are_read_and_suspected_where_they_stand_as_categories(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("weight;city\n71,5;Paris\n80,25;Lyon, Rhône\n66,0;Nice\n")
    drafted = propose(tmp_path / "people.csv")
    assert drafted["weight"].kind == "real"
    assert drafted["weight"].spelling == "1.234,56"  # type: ignore[attr-defined]
    by_hand = drafted.with_columns(Category("weight", categories=("71,5", "80,25", "66,0")))
    assert [f.column for f in check(by_hand) if "decimal comma" in f.text] == ["weight"]


@pytest.mark.parametrize("kind", [int, float, str])
def test_an_identifier_that_repeats_is_dropped_and_asks_for_a_unit(kind: type) -> None:
    frame = pd.DataFrame({"patient_id": [kind(i // 3 + 1000) for i in range(600)], "sex": ["F", "M"] * 300})
    draft = propose(frame)
    assert draft["patient_id"].kind == "drop"
    assert "several rows" in draft["patient_id"].reason  # type: ignore[attr-defined]
    (warning,) = [f for f in check(draft) if f.level == "warning"]
    assert warning.column == "patient_id"
    assert "[unit]" in warning.text
    assert not [f for f in check(draft.with_unit(Unit("patient_id", 3))) if f.level == "warning"]


def test_milliseconds_are_dates_in_files_as_in_frames(tmp_path: Path) -> None:
    days = pa.array([86_400_000 * day for day in range(40)], pa.timestamp("ms"))
    pyarrow.parquet.write_table(pa.table({"seen": days}), tmp_path / "t.parquet")
    assert propose(tmp_path / "t.parquet") == propose(pa.table({"seen": days}))
    assert propose(tmp_path / "t.parquet")["seen"].kind == "date"


@pytest.mark.parametrize("form", FORMATS)
def test_doubles_write_moments_as_the_table_does(form: str) -> None:
    rng = np.random.default_rng(2)
    moments = pd.Timestamp("2021-01-02") + pd.to_timedelta(rng.integers(0, 900 * 86_400_000, 60), unit="ms")
    texts = moments.strftime(form)
    column = propose(pd.DataFrame({"seen": texts, "n": range(60)}))["seen"]
    assert isinstance(column, Moment)
    assert column.format == form
    coder = Encoder(Schema([column]))
    codes = coder.encode(pd.DataFrame({"seen": texts}))
    written = coder.decode(codes, rng=rng)
    assert (coder.encode(written) == codes).all(), "what doubles say is read as what they are"
    assert pd.to_datetime(written["seen"], format=form).notna().all()


def test_numbers_with_a_long_tail_get_bins_that_grow() -> None:
    rng = np.random.default_rng(0)
    money = np.round(rng.lognormal(5, 1.5, 2_000) + 1, 2)
    table = pa.table({"cost": money, "count": money.astype(int), "height": rng.normal(170, 8, 2_000)})
    drafted = propose(table)
    for name in ("cost", "count"):
        assert drafted[name].scale == "log"
        assert "scale" in drafted[name].derived
    assert drafted["cost"].lower > 0
    assert drafted["height"].scale is None


def test_an_open_draft_keeps_how_numbers_are_written() -> None:
    lab = [*(f"{i / 10:.1f}" for i in range(300)), *["N"] * 20]
    dose = [2.5, 5.0, 7.5, 10.0] * 80
    drafted = propose_kinds(pa.table({"lab": lab, "dose": dose}))
    lab_column, dose_column = drafted["lab"], drafted["dose"]
    assert (lab_column.decimals, lab_column.special, lab_column.open_fields) == (1, ("N",), ("lower", "upper"))
    assert set(lab_column.derived) == {"kind", "decimals", "special"}
    assert (dose_column.decimals, dose_column.values) == (1, None)


def test_texts_that_read_alike_become_one_category() -> None:
    words = ["true", "1", "1.0", "x", "NaN", "2020-01-05", "2020-01-05 00:00:00"]
    assert propose(pa.table({"mess": words * 30}))["mess"].categories == ("1", "2020-01-05", "x")


def test_several_files_of_one_table_are_one_draft(tmp_path: Path) -> None:
    for name, wards in (("a", ("icu", "surgery")), ("b", ("icu", "maternity"))):
        lines = [f"{wards[i % 2]},{i % 40}" for i in range(80)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["ward,age", *lines]) + "\n")
    drafted = propose(tmp_path / "*.csv")
    assert drafted["ward"].categories == ("icu", "maternity", "surgery")  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="no file has such a name"):
        propose(tmp_path / "*.parquet")
