"""Persons with their last rows as records: what stands in one, who moves it, and labelling to the end."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command import Run
from kagemusha.annotation.cards import grouped
from kagemusha.annotation.project import Project, explanatory, open_project, require_possible, run_rounds
from kagemusha.annotation.results import write_results
from kagemusha.annotation.store import Store
from kagemusha.errors import UsageError
from kagemusha.ledger.open import open_ledger
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import Related
from kagemusha.sources.families import Family
from kagemusha.sources.several import open_related

from .people import settings

TEXT = """
version = 1
[tables.patients]
key = "p"
[tables.patients.columns.sex]
kind = "category"
categories = ["F", "M"]
[tables.patients.columns.ill]
kind = "boolean"
[tables.visits]
parent = "patients"
key = "p"
id = "v"
order = "day"
max_rows = 6
[tables.visits.columns.day]
kind = "integer"
lower = 0
upper = 99
[tables.visits.columns.ward]
kind = "category"
categories = ["a", "b", "c"]
[tables.drugs]
parent = "patients"
key = "p"
max_rows = 2
[tables.drugs.columns.drug]
kind = "category"
categories = ["x", "y"]
[tables.labs]
parent = "visits"
key = "v"
max_rows = 3
[tables.labs.columns.c]
kind = "category"
categories = ["s", "t"]
"""


def schema() -> Related:
    found = read_declared(TEXT)
    assert isinstance(found, Related)
    return found


def hospital(persons: int = 300, seed: int = 1) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rng.integers(0, 6, persons))
    takes = np.repeat(np.arange(persons), rng.integers(0, 3, persons))
    of = np.repeat(np.arange(len(who)), rng.integers(0, 3, len(who)))
    sex = rng.choice(["F", "M"], persons)
    visits = {"p": who, "v": np.arange(len(who)), "day": rng.integers(0, 100, len(who))}
    return {
        "patients": pd.DataFrame({"p": np.arange(persons), "sex": sex, "ill": rng.random(persons) < 0.5}),
        "visits": pd.DataFrame({**visits, "ward": rng.choice(list("abc"), len(who))}),
        "drugs": pd.DataFrame({"p": takes, "drug": rng.choice(["x", "y"], len(takes))}),
        "labs": pd.DataFrame({"v": of, "c": rng.choice(["s", "t"], len(of))}),
    }


def records(tables: dict[str, pd.DataFrame]) -> tuple[Family, dict[str, np.ndarray]]:
    family = Family(schema())
    found = family.records(open_related(tables, schema()))
    return family, dict(zip(family.schema.domain.names, map(np.asarray, found), strict=True))


def test_a_record_is_the_person_with_the_last_rows() -> None:
    tables = hospital()
    tables["visits"] = tables["visits"].drop_duplicates(["p", "day"])  # so that the order says which is the last
    tables["labs"] = tables["labs"][tables["labs"]["v"].isin(tables["visits"]["v"])]
    _, found = records(tables)
    for person, rows in tables["visits"].groupby("p"):
        rows = rows.sort_values("day", ascending=False).head(3)
        for back, name in enumerate(("last", "1 before the last", "2 before the last")):
            day, ward = (found[f"visits, {name}: {column}"][person] for column in ("day", "ward"))
            if back < len(rows):
                assert (day, "abc"[ward]) == (rows["day"].iloc[back], rows["ward"].iloc[back])
            else:
                # the last code stands for no such row; of a category after the bucket for what is not listed
                assert (day, ward) == (100, 4)
    alone = sorted(set(tables["patients"]["p"]) - set(tables["visits"]["p"]))
    assert (found["visits, last: ward"][alone] == 4).all()
    assert "drugs, 1 before the last: drug" in found
    assert "drugs, 2 before the last: drug" not in found, "max_rows = 2"


def test_nobody_elses_record_moves() -> None:
    tables = hospital(40)
    _, whole = records(tables)
    for person in range(0, 40, 7):
        visits = tables["visits"][tables["visits"]["p"] != person]
        less = {
            "patients": tables["patients"][tables["patients"]["p"] != person],
            "visits": visits.sample(frac=1, random_state=person),
            "drugs": tables["drugs"][tables["drugs"]["p"] != person],
            "labs": tables["labs"][tables["labs"]["v"].isin(visits["v"])],
        }
        _, others = records(less)
        assert all((np.delete(whole[name], person) == others[name]).all() for name in whole)


def test_the_mutant_that_takes_anybodys_last_rows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kagemusha.sources.families.starts_of", lambda parents: np.arange(len(parents)) % 2 == 0)
    with pytest.raises(AssertionError):
        test_nobody_elses_record_moves()


def test_what_people_are_asked_is_in_no_record() -> None:
    assert "ill" not in explanatory(schema(), "ill").names
    assert not any("ward" in name for name in explanatory(schema(), "ward").names)
    with pytest.raises(UsageError, match="comes in its order"):
        explanatory(schema(), "day")
    loose = read_declared(TEXT.replace('kind = "boolean"', 'kind = "category"'))
    with pytest.raises(UsageError, match=r"still open.*ill.categories"):
        require_possible(Project("severe", ("no", "yes"), "", 1.0, 1e-6, settings(), 0.0), loose)


def test_cards_say_which_rows_there_are() -> None:
    family = Family(schema())
    card = [{"column": name, "value": "not known" if "before" in name else "1"} for name in family.schema.names]
    found = {cell["column"]: cell for cell in grouped(card, family.places)}
    assert found["sex"] == {"column": "sex", "value": "1"}
    last = found["visits, last: ward"]
    assert (last["of"], last["back"], last["name"], last["absent"]) == ("visits", 0, "ward", False)
    assert found["visits, 2 before the last: day"]["absent"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    for name, table in hospital().items():
        table.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    (tmp_path / "schema.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def labelled(place: Path, family: Family) -> tuple[Store, Any]:
    """A project whose every question somebody answers: patients with a last visit in ward a are severe."""
    project = Project("severe", ("no", "yes"), "", 20.0, 1e-6, settings(labels=40), 0.0)
    store = open_project(place / "labels", project)

    def rested() -> None:
        while not store.enough() and (task := store.next("Ada")) is not None:
            (ward,) = (cell["value"] for cell in task.shown if cell["column"] == "visits, last: ward")
            store.label(task.id, "Ada", str(int(ward == "a")), f"key-{task.id:08d}")

    model = run_rounds(project, store, place / "tables", family.related, ledger=place / "ledger.db", rested=rested)
    return store, model


def test_labels_of_persons_from_the_first_to_the_last(place: Path, run: Run) -> None:
    family = Family(schema())
    store, model = labelled(place, family)
    assert model.certificate.epsilon == 20.0
    for task in store.said()[:5]:
        assert {cell.get("of") for cell in task.shown} == {None, "visits", "drugs"}
    doubles = model.sample(400, seed=1, like="pandas")
    numbers, days = doubles["number of visits"], doubles["visits, last: day"]
    assert (days.isna() == (numbers == 0)).all()
    both = doubles.dropna(subset=["visits, 1 before the last: day"])
    assert (both["visits, 1 before the last: day"] <= both["visits, last: day"]).all()
    write_results(store, family.schema, place / "labels", related=family.related)
    run("annotate", "predict", place / "tables", "--classifier", place / "labels", "--out", place / "found.csv")
    with (place / "found.csv").open(encoding="utf-8") as lines:
        found = {row["p"]: row["severe"] for row in csv.DictReader(lines)}
    assert len(found) == 300
    visits = hospital()["visits"].sort_values(["p", "day"])
    last = visits.groupby("p")["ward"].last()
    right = [found[str(person)] == ("yes" if ward == "a" else "no") for person, ward in last.items()]
    assert np.mean(right) > 0.75
    # one data set, one budget: labels and releases of the same folder draw from one cap
    tables = open_related(place / "tables", schema())
    (record,) = open_ledger(place / "ledger.db").releases()
    assert record.dataset == tables.name
