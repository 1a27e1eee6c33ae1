"""Numbers outside their range: one line that names the field and the range, before anything is read or spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kagemusha.cli import account, compare, evaluate, generation, plan, sample, synth
from kagemusha.cli.options import check_rows, check_seed
from kagemusha.errors import DataError, OutputError, UsageError
from kagemusha.files import write_whole
from kagemusha.models.file import read_model, write_model
from kagemusha.sources.rawfile import read_header
from kagemusha.synthesizers.registry import create

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("aim", "degree", "abc"),
        ("aim", "degree", 2.5),
        ("aim", "degree", True),
        ("aim", "degree", None),
        ("aim", "rounds", "many"),
        ("aim", "init", "yes"),
        ("aim", "max_megabytes", INF),
        ("kage", "max_cells", "abc"),
        ("kage", "target", 3),
        ("kage", "emphasis", NAN),
    ],
)
def test_an_option_of_the_wrong_kind(method: str, option: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"'{option}'.*must be"):
        create(method, **{option: value})


def test_options_of_the_right_kind() -> None:
    create("aim", degree=3, rounds=None, init=False, max_megabytes=8, target="sex")
    create("aim", degree=np.int64(3), rounds=7)
    create("kage", max_cells=1000, emphasis=2)


def test_rows_and_seeds() -> None:
    for rows in (0, -5, 99999999999999999999):
        with pytest.raises(UsageError, match="--rows must be at least 1 and at most 1,000,000,000"):
            check_rows(rows)
    check_rows(None)
    check_rows(10**9)
    with pytest.raises(UsageError, match="--seed must be at least 0"):
        check_seed(-1)
    check_seed(0)


HUGE = 99999999999999999999


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": HUGE}, "rows must be"),
        ({"seed": -1, "simulation": True}, "simulation must be"),
        ({"discover": 2.0}, "discover must be"),
        ({"discover": NAN}, "discover must be"),
        ({"discover": 0.1}, "nothing to find"),
    ],
)
def test_synth_refuses_before_it_pays(patients: Path, tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        synth.synth(data=patients, schema=tmp_path / "patients.toml", out=tmp_path / "doubles", **change)
    assert not list(tmp_path.glob("*.db*"))


def test_plan(patients: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--rows"):
        plan.plan(tmp_path / "patients.toml", rows=-5)
    for method in ("kage", "aim"):
        with pytest.raises(UsageError, match="epsilon must be larger"):
            plan.plan(tmp_path / "patients.toml", epsilon=1e-9, method=method)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"rows": HUGE}, "rows must be"), ({"seed": -1}, "--seed"), ({"where": " "}, "--where is empty")],
)
def test_sample(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sample.sample(tmp_path / "model.kage", out=tmp_path / "more.csv", **change)


def test_a_model_has_a_longest_table(run, patients: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from kagemusha.models.model import load_model

    run("synth", patients, "-s", "patients.toml", "-m", "independent", "--out", "doubles")
    model = load_model(tmp_path / "doubles" / "model.kage")
    for rows in (0, HUGE):
        with pytest.raises(UsageError, match="at most 1,000,000,000"):
            model.sample(rows)


def test_evaluate_and_compare(tmp_path: Path) -> None:
    table, schema = tmp_path / "a.csv", tmp_path / "a.toml"
    with pytest.raises(UsageError, match="--seed"):
        evaluate.evaluate(table, table, schema=schema, out=tmp_path / "a.html", seed=-1)
    with pytest.raises(UsageError, match="--seed"):
        compare.compare(table, schema=schema, out=tmp_path, seed=-1)
    for jobs in (0, -2):
        with pytest.raises(UsageError, match="--jobs must be at least 1"):
            compare.compare(table, schema=schema, out=tmp_path, jobs=jobs)


def test_account() -> None:
    for scale in (1e-9, 0.0, NAN, INF):
        with pytest.raises(UsageError, match=r"--scale must be at least 0\.01"):
            account.noise(scale)
    with pytest.raises(UsageError, match="--epsilon must be finite"):
        account.buy(INF)
    for n in (NAN, INF, 2.5):
        with pytest.raises(UsageError, match="--n must be a whole number"):
            generation.gaussian_generation(n=n, d=2, sigma=0.1)


def test_a_flipped_byte_in_a_model(tmp_path: Path) -> None:
    path = tmp_path / "model.kage"
    write_model(path, {"about": "a model"}, {"weights": np.arange(20.0)})
    whole = path.read_bytes()
    read = 0
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        try:
            description, arrays = read_model(path)
        except DataError:
            continue
        # dates and system of a zip entry say nothing about what it holds
        read += 1
        assert description["about"] == "a model", position
        assert list(arrays) == ["weights"], position
        assert np.array_equal(arrays["weights"], np.arange(20.0)), position
    assert read < len(whole) / 4


def test_a_file_that_cannot_be_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(OutputError, match="Read-only file system"):
        write_whole(tmp_path / "x.json", b"{}")


def test_a_table_that_cannot_be_cleaned_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    from kagemusha.folder.table_file import write_table

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "replace", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(OutputError, match="Read-only file system"):
        write_table(pa.table({"a": [1]}), tmp_path / "x.csv")


def test_a_column_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    path.write_text("id,sex,,age\n1,F,2,3\n")
    assert read_header(path) == ("id", "sex", "column_3", "age")
