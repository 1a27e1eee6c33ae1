"""Survey weights of persons, carried to their rows: sensitivity by brute force, totals, and what may be declared."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from command import Run
from kagemusha.errors import KagemushaError, UsageError
from kagemusha.privacy.budget import PrivacyUnit
from kagemusha.queries.weighted_counts import WeightedCounts
from kagemusha.release.related_totals import question
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import PARTS, Related
from kagemusha.sources.several import open_related

TEXT = """
version = 1

[weight]
column = "w"

[tables.persons]
key = "p"
[tables.persons.columns.sex]
kind = "category"
categories = ["F", "M"]
[tables.persons.columns.w]
kind = "integer"
lower = 0
upper = 7
[tables.visits]
parent = "persons"
key = "p"
id = "v"
max_rows = 3
counts_as = 2
[tables.visits.columns.ward]
kind = "category"
categories = ["a", "b"]
[tables.labs]
parent = "visits"
key = "v"
max_rows = 2
[tables.labs.columns.c]
kind = "category"
categories = ["s", "t"]
"""

Family = tuple[str, int, tuple[tuple[str, int], ...]]
"""Sex, weight, and of each visit the ward and the number of labs."""

FAMILIES: list[Family] = [
    (sex, weight, visits)
    for sex, weight in product("FM", (0, 1, 7, 9))
    for size in range(4)
    for visits in list(product(product("ab", (0, 2)), repeat=size))[::5]
]


def schema() -> Related:
    found = read_declared(TEXT)
    assert isinstance(found, Related)
    return found


def frames(families: list[Family]) -> dict[str, Any]:
    persons = [(at, sex, weight) for at, (sex, weight, _) in enumerate(families)]
    visits = [(at, 10 * at + i, ward) for at, (_, _, rows) in enumerate(families) for i, (ward, _) in enumerate(rows)]
    labs = [(10 * at + i, "st"[k]) for at, f in enumerate(families) for i, (_, n) in enumerate(f[2]) for k in range(n)]
    return {
        "persons": pd.DataFrame(persons, columns=["p", "sex", "w"]),
        "visits": pd.DataFrame(visits, columns=["p", "v", "ward"]).astype({"ward": "object"}),
        "labs": pd.DataFrame(labs, columns=["v", "c"]).astype({"c": "object"}),
    }


def test_rows_weigh_as_much_as_their_person() -> None:
    related = schema()
    assert related.weight is not None
    assert {name: related.view(name).weight.column for name in ("persons", "visits", "labs")} == {  # type: ignore[union-attr]
        "persons": "w",
        "visits": "persons: w",
        "labs": "persons: w",
    }
    again = read_declared(related.dumps())
    assert again.digest() == related.digest() != read_declared(TEXT.replace('[weight]\ncolumn = "w"\n', "")).digest()


def test_nobody_moves_a_weighted_count_by_more_than_is_declared() -> None:
    related = schema()
    others: list[Family] = [("F", 3, (("a", 1), ("b", 0))), ("M", 7, (("b", 2),))]
    reached = dict.fromkeys(related.rows, 0.0)
    for view in ("persons", "visits", "labs"):
        domain = related.view(view)
        cliques: list[tuple[str, ...]] = [(), *((n,) for n in domain.domain.names)]
        queries = [WeightedCounts(domain, clique) for clique in cliques]
        moves = PrivacyUnit().of_rows(related.rows[view]).sensitivity(queries[0].sensitivity)

        def answers(families: list[Family], view: str = view, queries: list[WeightedCounts] = queries) -> list[Any]:
            source = open_related(frames(families), related).source(view)
            return [query.exact(source.count(query.cliques()), lambda part: part) for query in queries]  # type: ignore[arg-type,return-value]

        without = answers(others)
        for family in FAMILIES:
            for after, before in zip(answers([*others, family]), without, strict=True):
                change = after - before
                assert (change >= 0).all()
                assert change.sum() <= moves.l1
                assert (change.astype(object) ** 2).sum() <= moves.l2_squared
                reached[view] = max(reached[view], float(change.sum()) / moves.l1)
    assert reached["persons"] == reached["visits"] == 1.0, "the bound is reached"


def test_the_mutant_that_forgets_parts_is_caught() -> None:
    related = schema()
    query = WeightedCounts(related.view("visits"), ())
    alone = open_related(frames([("F", 7, (("a", 0),))]), related).source("visits")
    change = query.exact(alone.count(query.cliques()), lambda part: part)  # type: ignore[arg-type,return-value]
    assert change.sum() > PrivacyUnit().of_rows(2).sensitivity(query.sensitivity).l1


def test_totals_are_those_of_whole_rows() -> None:
    """Without noise: three visits that count as two are three again."""
    related = schema()
    families = [f for f in FAMILIES if f[1] < 9] * 2
    source = open_related(frames(families), related)
    for by, of in ((["ward"], None), (["sex"], "visits"), (["persons.sex", "visits.ward"], None), (["sex"], None)):
        asked = question(related, by, of)
        whole = asked.query.exact(source.source(asked.table.name).count(asked.query.cliques()), lambda part: part)  # type: ignore[arg-type,return-value]
        found = asked.totals(asked.query.released(whole, 1.0))
        for at, value in np.ndenumerate(found.values):
            names = {c: asked.schema[c].code_names[i] for c, i in zip(found.clique, at, strict=True)}  # type: ignore[union-attr]
            rows = [
                (f[0], f[1], ward)
                for f in families
                for ward in ([v[0] for v in f[2]] if of or "ward" in str(by) else [""])
            ]
            sex = names.get("sex", names.get("persons: sex"))
            wanted = sum(w for s, w, ward in rows if sex in (None, s) and names.get("ward") in (None, ward))
            # max_rows = 3 has a bin with 2: its middle is taken
            assert value == pytest.approx(wanted, rel=0.2)


def test_parts_are_whole_where_numbers_have_a_code_each() -> None:
    related = schema()
    one = open_related(frames([("F", 5, (("a", 0),))]), related).source("visits")
    query = question(related, ["ward"]).query
    found = query.exact(one.count(query.cliques()), lambda part: part)  # type: ignore[arg-type,return-value]
    worth = query.weights.worth
    assert found.sum() * worth == 5 * PARTS


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "tables").mkdir()
    for name, table in frames(FAMILIES * 20).items():
        table.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    return tmp_path


def test_totals_are_paid_for_and_certified(place: Path, run: Run) -> None:
    asked = ("totals", place / "tables", "--schema", place / "schema.toml", "--epsilon", 4, "--cap", 20)
    done = run(*asked, "--by", "ward", "--certificate", place / "answer.json", "--json")
    found = json.loads(done.stdout)
    assert found["of"] == "rows of visits"
    assert [one["ward"] for one in found["totals"]][:2] == ["a", "b"]
    certificate = json.loads((place / "answer.json").read_text(encoding="utf-8"))
    (event,) = certificate["events"]
    assert event["query"]["table"] == "visits"
    assert event["query"]["rows"] == 2 * PARTS
    run("verify", place / "answer.json")
    assert "people" in run(*asked, "--by", "sex").stdout
    assert json.loads(run(*asked, "--by", "ward", "--json").stdout)["totals"] == found["totals"], "nothing paid again"
    for wrong, why in (
        (("--by", "wards"), "no modelled column of that name"),
        (("--of", "visit"), "there is no such table"),
        (("--by", "c"), "rows that belong to rows of rows"),
        (("--by", "ward", "--of", "persons"), "is no column of it"),
    ):
        assert why in run(*asked, *wrong, code=2).stderr


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('column = "w"', 'column = "v"', "tables.persons: weight: the schema has no column 'v'"),
        ("upper = 7", "missing = true\nupper = 7", "tables.persons: weight: values of column 'w' may be missing"),
        ("upper = 7\n", "", "tables.persons: weight: upper of column 'w' must be declared"),
        ('column = "w"', 'colum = "w"', "weight: a table is needed"),
    ],
)
def test_mistakes_are_named(old: str, new: str, why: str) -> None:
    with pytest.raises(KagemushaError, match=why):
        read_declared(TEXT.replace(old, new, 1))


def test_a_release_says_what_weights_mean(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setattr("kagemusha.synthesizers.next_rows.DRAWN", 100)
    monkeypatch.setattr("kagemusha.synthesizers.related_fit.PARENTS", 100)
    kg.release_related(place / "tables", place / "doubles", 3.0, schema=place / "schema.toml", ledger=place / "l.db")
    assert all(check.passed for check in kg.verify(place / "doubles"))
    model = kg.load_related(place / "doubles")
    assert any("survey weight" in sentence or "weights" in sentence for sentence in model.certificate.assumptions)
    judged = json.loads((place / "doubles" / "quality.json").read_text(encoding="utf-8"))
    (everybody, *groups) = judged["population"]
    wanted = sum(min(f[1], 7) for f in FAMILIES) * 20
    assert everybody["low"] <= wanted <= everybody["high"]
    assert {"column": "sex", "label": "F"} in [{k: g[k] for k in ("column", "label")} for g in groups]
    assert "Population totals" in (place / "doubles" / "quality.html").read_text(encoding="utf-8")


def test_totals_need_weights() -> None:
    bare = read_declared(TEXT.replace('[weight]\ncolumn = "w"\n', ""))
    assert isinstance(bare, Related)
    with pytest.raises(UsageError, match="declares no weight"):
        question(bare, [])
