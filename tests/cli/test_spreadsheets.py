"""Cells that a spreadsheet would run: warned of, escaped if asked for, exact otherwise."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import Run
from kagemusha.folder.table_file import SAFE, escaped, find_formulas, spreadsheet_safe, write_table
from kagemusha.schema import Category, Date, Drop, Integer, Schema, Surrogate

RISKY = ["=1+1", "+cmd", "@SUM(A1)", "-2+3", "\tx", "\rx", "\nx", "'=x", "''+x", "=", "-", "+1,2,3"]
SAFE_TEXTS = ["a", "'t Hooft", "", "1=1", " =1", "-1", "+1", "-1.5", "-1,5", "−5", "2024-01-01", "'", "a-b"]


def unescaped(text: str) -> str:
    """What the documentation tells a reader to do."""
    return text[1:] if re.match(r"'+[=+\-@\t\r\n\x00]", text) else text


@pytest.mark.parametrize("text", RISKY)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert escaped(text) == f"'{text}"


@pytest.mark.parametrize("text", SAFE_TEXTS)
def test_everything_else_stays(text: str) -> None:
    assert escaped(text) == text


@given(st.text(alphabet="=+-@\t\r\n'a1., ", max_size=6) | st.text(max_size=8))
def test_the_exact_text_comes_back_and_none_begins_like_a_formula(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert not re.match(r"[=@\t\r]", escaped(text))
    if re.match(r"[+-]", escaped(text)):
        assert re.fullmatch(r"[+-][0-9]+([.,][0-9]+)?", text)


def test_a_table_is_escaped_as_its_texts_are(tmp_path: Path) -> None:
    texts = [*RISKY, *SAFE_TEXTS, None]
    table = pa.table(
        {"=name": texts, "number": [-float(i) for i in range(len(texts))], "whole": list(range(len(texts)))}
    )
    safe = spreadsheet_safe(table)
    assert safe.column_names == ["'=name", "number", "whole"]
    assert safe["'=name"].to_pylist() == [None if t is None else escaped(t) for t in texts]
    assert safe["number"] == table["number"]
    write_table(safe, tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert [unescaped(row[0]) for row in rows[1:]] == ["" if t is None else t for t in texts]
    assert rows[5][1] == "-4.0"


def test_where_formulas_may_be() -> None:
    schema = Schema(
        [
            Category("harmless", categories=("a", "-1")),
            Category("numbers", categories=(-1, -2), other=-3),
            Category("mixed", categories=(-1, "=x")),
            Category("other", categories=("a",), other="@else"),
            Surrogate("id", prefix="=P"),
            Integer("-age", lower=-9, upper=9),
            Drop("=dropped"),
            Date("day", lower=pd.Timestamp("2020-01-01").date(), upper=pd.Timestamp("2021-01-01").date()),
        ]
    )
    found = find_formulas(schema)
    assert found.columns == ["mixed", "other", "id"]
    assert found.names == ["-age"]
    assert "'mixed', 'other', 'id', …" in found.in_words()
    assert find_formulas(Schema([schema["harmless"], schema["numbers"], schema["day"]])).in_words() == ""


@pytest.fixture
def formulas(tmp_path: Path) -> Path:
    """A table whose categories are formulas."""
    rows = "".join(f'"{"=1+1" if i % 3 else "plain"}",{i % 7 - 3}\n' for i in range(210))
    (tmp_path / "people.csv").write_text(f"what,balance\n{rows}")
    (tmp_path / "people.toml").write_text(
        'version = 1\n[columns.what]\nkind = "category"\ncategories = ["=1+1", "plain"]\n'
        '[columns.balance]\nkind = "integer"\nlower = -3\nupper = 3\n'
    )
    return tmp_path / "people.csv"


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_synth_and_sample_warn_and_escape(run: Run, formulas: Path, tmp_path: Path) -> None:
    warned = run("synth", formulas, "--schema", "people.toml", "--out", "plain", "--method", "independent")
    assert "warning: column 'what'" in warned.stderr
    assert warned.stderr.count("\n") == 1
    assert any(row[0] == "=1+1" for row in cells(tmp_path / "plain" / "synthetic.csv")), "exact unless asked otherwise"
    run("ledger", "cap", "people.csv", "--epsilon", 9)
    safe = run("synth", formulas, "--schema", "people.toml", "--out", "safe", "--method", "independent",
               "--spreadsheet-safe", "--key", "2")  # fmt: skip
    assert "warning" not in safe.stderr
    table = cells(tmp_path / "safe" / "synthetic.csv")
    assert {row[0] for row in table[1:]} <= {"'=1+1", "plain", "other"}
    assert any(row[1] == "-3" for row in table), "negative numbers stay"
    assert SAFE in (tmp_path / "safe" / "certificate.json").read_text(encoding="utf-8")
    assert "one apostrophe more" in (tmp_path / "safe" / "certificate.html").read_text(encoding="utf-8")
    run("verify", "safe")
    run("verify", "plain")
    assert "warning" in run("sample", "safe/model.kage", "--out", "a.csv", "--rows", 50).stderr
    quiet = run("sample", "safe/model.kage", "--out", "b.csv", "--rows", 50, "--spreadsheet-safe")
    assert quiet.stderr == ""
    assert {row[0] for row in cells(tmp_path / "b.csv")[1:]} <= {"'=1+1", "plain", "other"}


def test_an_escaped_table_said_to_be_exact_is_noticed(run: Run, formulas: Path, tmp_path: Path) -> None:
    """The note is bound: without it the counts of the table are not the model's."""
    run("synth", formulas, "--schema", "people.toml", "--out", "plain", "--method", "independent")
    path = tmp_path / "plain" / "synthetic.csv"
    path.write_text(path.read_text().replace("=1+1", "'=1+1"))
    assert "synthetic.csv" in run("verify", "plain", code=8).stderr


def test_parquet_needs_no_escape(run: Run, formulas: Path, tmp_path: Path) -> None:
    run("synth", formulas, "--schema", "people.toml", "--out", "plain", "--method", "independent")
    refused = run("sample", "plain/model.kage", "--out", "x.parquet", "--spreadsheet-safe", code=2)
    assert "is for CSV" in refused.stderr
    assert "warning" not in run("sample", "plain/model.kage", "--out", "x.parquet").stderr
    pd.read_csv(formulas).to_parquet(tmp_path / "people.parquet")
    refused = run("synth", "people.parquet", "--schema", "people.toml", "--spreadsheet-safe", "--key", "3", code=2)
    assert "is for CSV" in refused.stderr
