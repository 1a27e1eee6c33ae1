"""Every mistake gets a message and an exit code: no traceback, no value of the data, nothing written, nothing spent."""

from __future__ import annotations

import csv
import os
from datetime import datetime
from pathlib import Path

import pytest

CANARY = "CANARY"
SYNTH = ("synth", "patients.csv", "--schema", "patients.toml", "--method", "independent", "--out", "doubles")


def refused(run, tmp_path: Path, *arguments: object, words: str) -> None:  # type: ignore[no-untyped-def]
    done = run(*arguments, code=None)
    assert done.returncode not in (0, 1), done.stdout
    assert CANARY not in done.stdout + done.stderr
    assert words in done.stderr, done.stderr
    assert not (tmp_path / "doubles").exists()
    assert not (tmp_path / "kagemusha-ledger.db").exists(), "something was spent"


def released(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The release is whole, verifies, and its doubles hold nothing but declared values."""
    done = run(*SYNTH, "--rows", 200)
    assert CANARY not in done.stdout + done.stderr
    run("verify", "doubles")
    with (tmp_path / "doubles" / "synthetic.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["sex", "age", "seen"]
    assert len(rows) == 200
    for sex, age, seen in rows:
        assert sex in ("F", "M")
        assert 0 <= int(age) <= 99
        assert not seen or datetime(2020, 1, 1) <= datetime.strptime(seen, "%d/%m/%Y") <= datetime(2024, 12, 31)


FILES = {
    "empty file": (b"", "empty"),
    "ragged rows": (b"id,sex,age,seen\nCANARY,F,3,\nCANARY,F\nCANARY,F,3,,,,\n", "patients.csv"),
    "duplicate headers": (b"id,sex,age,seen,sex\nCANARY,F,3,,F\n", "'sex_2' that the schema does not declare"),
    "utf-16 without its mark": ("id,sex,age,seen\nCANARY,F,3,\n".encode("utf-16-le"), "UTF"),
    "utf-16 cut short": ("id,sex,age,seen\nCANARY,F,3,\n".encode("utf-16")[:-1], "damaged"),
    "latin-1": ("id,sex,age,seen\nCANARY,F\xe9,3,\n".encode("latin-1"), "UTF"),
    "nul bytes": (b"id,sex,age,seen\nCANARY,F\x00,3,\n", "NUL"),
    "other columns": (b"id,gender,age,seen\nCANARY,F,3,\n", "sex"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file(run, patients: Path, tmp_path: Path, case: str) -> None:  # type: ignore[no-untyped-def]
    content, words = FILES[case]
    patients.write_bytes(content)
    refused(run, tmp_path, *SYNTH, words=words)


def test_odd_values_are_no_error_but_follow_the_declared_rule(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lines = [
        "id,sex,age,seen",
        "CANARY,F,NaN,01/01/2021",
        "CANARY,X,inf,nonsense",
        "CANARY,,abc,31/12/9999",
        "CANARY,M,-5,",
    ] * 20
    patients.write_text(
        "\n".join(dict.fromkeys(lines[:1])) + "\n" + "\n".join(line for line in lines if line != lines[0]) + "\n"
    )
    released(run, tmp_path)


def test_a_file_of_a_header_alone_is_released(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """One record less than a file of one record: what is done to the one is done to the other."""
    patients.write_text("id,sex,age,seen\n")
    released(run, tmp_path)


def test_a_truncated_parquet_file(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "patients.parquet"
    pq.write_table(
        pa.table({"id": ["CANARY"] * 500, "sex": ["F"] * 500, "age": [1] * 500, "seen": ["01/01/2021"] * 500}), path
    )
    path.write_bytes(path.read_bytes()[:-200])
    refused(run, tmp_path, "synth", path.name, *SYNTH[2:], words="patients.parquet")


ARGUMENTS = [
    (("--epsilon", 0), "epsilon"),
    (("--epsilon", -1), "epsilon"),
    (("--epsilon", "nan"), "epsilon"),
    (("--delta", 1), "delta"),
    (("--delta", 2), "delta"),
    (("--delta", 0), "delta"),
    (("--method", "aimm"), "did you mean"),
    (("--option", "depth=3"), "option"),
    (("--option", "nonsense"), "NAME=VALUE"),
    (("--rows", 0), "rows"),
    (("--schema", "missing.toml"), "missing.toml"),
    (("--adjacency", "swap"), "adjacency"),
    (("--target", "sexx"), "did you mean 'sex'"),
]


@pytest.mark.parametrize(("extra", "words"), ARGUMENTS, ids=lambda value: str(value))
def test_a_bad_argument(run, patients: Path, tmp_path: Path, extra: tuple[object, ...], words: str) -> None:  # type: ignore[no-untyped-def]
    refused(run, tmp_path, *SYNTH, *extra, words=words)


def test_a_missing_file(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    refused(run, tmp_path, "synth", "nobody.csv", *SYNTH[2:], words="nobody.csv")


def test_a_schema_that_does_not_fit(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    schema = tmp_path / "patients.toml"
    schema.write_text(schema.read_text() + '[columns.height]\nkind = "real"\nlower = 0.0\nupper = 3.0\n')
    refused(run, tmp_path, *SYNTH, words="height")


def test_ten_thousand_columns(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "wide.csv"
    names = [f"c{i}" for i in range(10_000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n" + ",".join("2" for _ in names) + "\n")
    assert "wide.toml: 10000 columns" in run("schema", "propose", "wide.csv").stdout
    assert (tmp_path / "wide.toml").read_text().count("[columns.c") == 10_000


def test_a_million_categories(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "names.csv"
    path.write_text("name,sex\n" + "".join(f"{CANARY}{i},F\n" for i in range(1_000_000)))
    run("schema", "propose", "names.csv")
    assert CANARY not in (tmp_path / "names.toml").read_text()
    assert 'kind = "drop"' in (tmp_path / "names.toml").read_text()


def test_the_cap_is_reached(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run("ledger", "cap", "patients.csv", "--epsilon", 0.5)
    done = run(*SYNTH, code=5)
    assert "cap" in done.stderr
    assert "Nothing was spent" in done.stderr
    assert not (tmp_path / "doubles").exists()


def test_the_ledger_is_damaged(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "kagemusha-ledger.db").write_bytes(b"rubbish" * 1000)
    assert "damaged" in run(*SYNTH, code=6).stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_the_disk_is_full(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run(*SYNTH)
    (tmp_path / "full.csv.part").symlink_to("/dev/full")
    done = run("sample", "doubles/model.kage", "--out", "full.csv", code=9)
    assert "full.csv" in done.stderr
    assert not (tmp_path / "full.csv").exists()


def test_an_output_folder_that_cannot_be_made(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "file").write_text("in the way")
    done = run(*SYNTH[:-1], "file/doubles", code=9)
    assert "file" in done.stderr


def test_an_existing_folder_is_not_overwritten(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "there").mkdir()
    assert "--force" in run(*SYNTH[:-1], "there", code=2).stderr


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04rubbish", b"\x80\x04\x95cposix\nsystem\n", b"{}"])
def test_a_model_file_that_is_none(run, tmp_path: Path, content: bytes) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "model.kage").write_bytes(content)
    assert "model.kage" in run("sample", "model.kage", "--out", "x.csv", code=4).stderr
