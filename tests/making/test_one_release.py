"""The command line and Python are two entrances to one function.

The same folder, and the same refusals before anything is spent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kagemusha as kg
from command import Run
from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.keys import new_key
from kagemusha.errors import KagemushaError, OutputError, UsageError
from kagemusha.folder.folder import claimed
from kagemusha.ledger import Cap, open_ledger
from kagemusha.ledger.chain import head_file
from kagemusha.making import Order, Output, make_release
from kagemusha.privacy.budget import Budget

SCHEMA = """version = 1
[columns.sex]
kind = "category"
categories = ["F", "M"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
"""

OPEN = SCHEMA.replace('categories = ["F", "M"]\n', "")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.toml").write_text(SCHEMA)
    (tmp_path / "open.toml").write_text(OPEN)
    (tmp_path / "people.csv").write_text("sex,age\n" + "".join(f"{'FM'[i % 2]},{i % 100}\n" for i in range(300)))
    return tmp_path


def python(place: Path, **changes: Any) -> kg.Model:
    """`kg.fit` and `kg.publish`, as somebody would write them."""
    ledger = place / "kagemusha-ledger.db"
    fits: dict[str, Any] = {"method": "independent", "schema": place / "people.toml", "epsilon": 1.0, "delta": 1e-9}
    writes: dict[str, Any] = {"folder": place / "out"}
    for name, value in changes.items():
        (writes if name in ("rows", "file_kind", "sign", "spreadsheet_safe", "folder") else fits)[name] = value
    method, budget = fits.pop("method"), Budget(fits.pop("epsilon"), fits.pop("delta"))
    model = kg.fit(method, place / "people.csv", budget, ledger=ledger, **fits)
    kg.publish(model, ledger=ledger, **writes)
    return model


def order(place: Path, **changes: Any) -> Order:
    """The same as an order."""
    told: dict[str, Any] = {"method": "independent", "schema": place / "people.toml", "epsilon": 1.0, "delta": 1e-9}
    told |= changes
    writes = {n: told.pop(n) for n in ("rows", "file_kind", "sign", "spreadsheet_safe") if n in told}
    output = Output(folder=told.pop("folder", place / "out"), **writes)
    budget = Budget(told.pop("epsilon"), told.pop("delta"))
    return Order(
        table=str(place / "people.csv"),
        budget=budget,
        ledger=place / "kagemusha-ledger.db",
        output=output,
        **told,
    )


def command(place: Path, **changes: Any) -> list[str]:
    told: dict[str, Any] = {"method": "independent", "schema": place / "people.toml"} | changes
    told["out"] = told.pop("folder", place / "out")
    names = {"file_kind": "format", "spreadsheet_safe": "spreadsheet-safe", "simulation": "seed"}
    line = ["synth", str(place / "people.csv")]
    for name, value in told.items():
        flag = f"--{names.get(name, name).replace('_', '-')}"
        line += [flag] if value is True else [flag, str(value)]
    return [*line, "--simulation"] if "simulation" in told else line


REFUSALS: dict[str, dict[str, Any]] = {
    "delta that verify refuses": {"delta": 1e-3},
    "delta of a half": {"delta": 0.5},
    "no rows": {"rows": 0},
    "too many rows": {"rows": 10**10},
    "more rows than were paid for": {"method": "gaussian-rows", "rows": 10**9},
    "share of nothing": {"discover": 0.1},
    "share of all": {"discover": 1.0, "schema": "open.toml"},
    "open facts without a share": {"schema": "open.toml"},
    "cap below epsilon": {"cap": 0.5},
    "infinite cap": {"cap": float("inf")},
    "negative seed": {"simulation": -1},
    "kind of file": {"file_kind": "xlsx"},
    "apostrophes in Parquet": {"file_kind": "parquet", "spreadsheet_safe": True},
    "key that is none": {"sign": "people.toml"},
    "key that is not there": {"sign": "nothing.key"},
    "folder that is there": {"folder": "."},
    "folder that cannot be written": {"folder": "people.csv/out"},
    "method that is none": {"method": "kag"},
    "infinite epsilon": {"epsilon": float("inf")},
}


def inside(folder: Path, changes: dict[str, Any]) -> dict[str, Any]:
    return {n: folder / v if n in ("schema", "sign", "folder") else v for n, v in changes.items()}


@pytest.mark.parametrize("case", REFUSALS)
def test_both_entrances_refuse_the_same_before_anything_is_spent(people: Path, run: Run, case: str) -> None:
    changes = inside(people, REFUSALS[case])
    with pytest.raises(KagemushaError) as refused:
        make_release(order(people, **changes))
    done = run(*command(people, **changes), code=refused.value.exit_code)
    assert done.stderr.removeprefix("kagemusha: ").strip() == refused.value.at_a_prompt
    assert not (people / "kagemusha-ledger.db").exists(), "nothing was spent, and no ledger was made"
    assert not list(people.glob(".*")), "nothing is left of the attempt"


@pytest.mark.parametrize(
    "case", [c for c in REFUSALS if not {"rows", "file_kind", "sign", "folder"} & set(REFUSALS[c])]
)
def test_fitting_alone_refuses_the_same(people: Path, case: str) -> None:
    changes = inside(people, REFUSALS[case])
    with pytest.raises(KagemushaError) as refused:
        make_release(order(people, **changes))
    with pytest.raises(type(refused.value)) as again:
        python(people, **changes)
    assert str(again.value) == str(refused.value)
    assert not (people / "kagemusha-ledger.db").exists()


@pytest.mark.parametrize("case", [c for c in REFUSALS if {"rows", "file_kind", "sign", "folder"} & set(REFUSALS[c])])
def test_publishing_alone_refuses_the_same(people: Path, case: str) -> None:
    changes = inside(people, REFUSALS[case])
    if "method" in changes:
        changes.pop("method")
        changes["rows"] = -1
    with pytest.raises(KagemushaError) as refused:
        make_release(order(people, **changes))
    with pytest.raises(type(refused.value)) as again:
        python(people, **changes)
    assert str(again.value) == str(refused.value)
    assert not (people / "out").exists()


def test_rows_of_a_table_in_memory_are_checked_before_the_fit(people: Path) -> None:
    ledger = people / "kagemusha-ledger.db"
    with pytest.raises(UsageError, match="rows"):
        kg.synthesize(people / "people.csv", 1.0, schema=people / "people.toml", rows=0, ledger=ledger)
    assert not ledger.exists()


LEDGERS: dict[str, Callable[[Path], dict[str, Any]]] = {}


def ledger_case(make: Callable[[Path], dict[str, Any]]) -> Callable[[Path], dict[str, Any]]:
    LEDGERS[make.__name__] = make
    return make


@ledger_case
def other_cap(folder: Path) -> dict[str, Any]:
    return {"cap": 9.0, "key": "again"}


@ledger_case
def used_up_cap(folder: Path) -> dict[str, Any]:
    return {"epsilon": 2.5, "key": "again"}


@ledger_case
def other_policy(folder: Path) -> dict[str, Any]:
    return {"policy": "research", "cap": 3.0, "key": "again"}


@ledger_case
def no_such_policy(folder: Path) -> dict[str, Any]:
    return {"policy": "research", "key": "again"}


@ledger_case
def lost_head(folder: Path) -> dict[str, Any]:
    head_file(folder / "kagemusha-ledger.db").unlink()
    return {"key": "again"}


@ledger_case
def older_than_a_release_beside_the_table(folder: Path) -> dict[str, Any]:
    """A certificate in sight has seen an entry that this ledger lacks."""
    beside = folder / "seen"
    beside.mkdir()
    told = json.loads(head_file(folder / "kagemusha-ledger.db").read_text())
    (beside / "certificate.json").write_text(json.dumps({"format": "any", "ledger": told | {"number": 999}}))
    return {"key": "again"}


@ledger_case
def witness_that_is_not_there(folder: Path) -> dict[str, Any]:
    return {"witness": folder / "nothing.head"}


@pytest.mark.parametrize("case", LEDGERS)
def test_what_the_ledger_refuses_is_refused_at_both_entrances(people: Path, run: Run, case: str) -> None:
    ledger = people / "kagemusha-ledger.db"
    book = open_ledger(ledger)
    book.set_cap(Cap(str(people / "people.csv"), "default", Budget(2.0)))
    book.close()
    changes = LEDGERS[case](people)
    with pytest.raises(KagemushaError) as refused:
        make_release(order(people, **changes))
    assert (
        run(*command(people, **changes), code=refused.value.exit_code)
        .stderr.strip()
        .endswith(refused.value.at_a_prompt)
    )
    if "witness" not in changes:
        with pytest.raises(type(refused.value)) as again:
            python(people, **changes)
        assert str(again.value) == str(refused.value)
    if case != "lost_head":
        assert open_ledger(ledger, read_only=True).releases() == []
    assert not (people / "out").exists()


@pytest.mark.parametrize("signed", [False, True])
def test_both_entrances_make_the_same_folder(people: Path, run: Run, signed: bool) -> None:
    more: dict[str, Any] = {"rows": 50, "key": "k", "cap": 3.0}
    if signed:
        new_key(people / "our.key", "Hospital")
        more["sign"] = people / "our.key"
    run(*command(people, folder=people / "one", **more))
    ledger = people / "kagemusha-ledger.db"
    ledger.unlink()
    head_file(ledger).unlink()
    python(people, folder=people / "two", **more)
    files = [{path.name for path in folder.iterdir()} for folder in (people / "one", people / "two")]
    assert files[0] == files[1]
    one, two = (json.loads((folder / "certificate.json").read_text()) for folder in (people / "one", people / "two"))
    for name in ("ledger", "outputs", "digest", "page"):  # these hold random names, noise and draws
        one.pop(name), two.pop(name)
    assert one == two


def test_a_place_that_somebody_holds_is_refused_before_anything_is_spent(people: Path, run: Run) -> None:
    with claimed(people / "out"):
        with pytest.raises(OutputError, match="another release is being written there"):
            make_release(order(people))
        assert "another release" in run(*command(people), code=OutputError.exit_code).stderr
    assert not (people / "kagemusha-ledger.db").exists()
    made = make_release(order(people))
    assert Certificate.from_json((people / "out" / "certificate.json").read_text()) == made.certificate


def test_the_ledger_is_opened_once(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kagemusha.ledger.sqlite import SQLiteLedger

    opened: list[str] = []
    init = SQLiteLedger.__init__

    def counting(self: SQLiteLedger, path: Any, **how: Any) -> None:
        opened.append(str(path))
        init(self, path, **how)

    monkeypatch.setattr(SQLiteLedger, "__init__", counting)
    make_release(order(people, cap=5.0))
    make_release(order(people, key="b", folder=people / "b"))
    assert opened == [str(people / "kagemusha-ledger.db")] * 2


def test_nothing_is_asked_of_pictures_or_spark_when_a_csv_comes_in(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import import_module

    def never(*_: object, **__: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(import_module("kagemusha.sources.open"), "is_spark_frame", never)
    monkeypatch.setattr(import_module("kagemusha.sources.open"), "open_images", never)
    make_release(order(people))
