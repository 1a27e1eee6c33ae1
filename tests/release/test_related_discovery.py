"""Categories and bounds of tables that belong together, found for a share of the budget."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from command import Run
from kagemusha.errors import KagemushaError
from kagemusha.ledger.open import opened
from kagemusha.ledger.protocol import ReleaseRequest
from kagemusha.privacy.accountants import Accounting
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import ThresholdEvent
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.release.discovery import Finder
from kagemusha.release.release import Release
from kagemusha.release.share import Share
from kagemusha.schema import Category, Integer, Schema, Surrogate
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import PARTS, Related, Table
from kagemusha.sources import open_below
from kagemusha.sources.open_below import OpenBelow, OpenRelated
from kagemusha.sources.several import related_tables
from kagemusha.sources.steps import RelatedSource

Family = tuple[str, tuple[tuple[str, int, tuple[str, ...]], ...]]
"""A person's letter, and visits: a ward, a number, and the letters of labs."""

VISITS = [(ward, value, labs) for ward in "uvw" for value in (1, 90) for labs in ((), ("s",), ("t", "q", "t"))]
FAMILIES: list[Family] = [
    ("x", ()),
    *(("n", (visit,)) for visit in VISITS),
    *(("z", visits) for visits in list(product(VISITS, repeat=2))[::7]),
    *(("x", visits) for visits in list(product(VISITS, repeat=4))[::9001]),
]
OTHERS: list[Family] = [("x", (("u", 3, ("s",)), ("u", 4, ()))), ("y", (("v", 50, ("s", "t")),))]


def schema(counts_as: int = 2) -> Related:
    persons = Schema([Surrogate("p"), Category("a")])
    visits = Schema([Surrogate("p"), Surrogate("v"), Category("b"), Integer("n")])
    labs = Schema([Surrogate("v"), Category("c")])
    return Related(
        [
            Table("persons", persons, "p"),
            Table("visits", visits, "p", "persons", "v", max_rows=4, counts_as=counts_as),
            Table("labs", labs, "v", "visits", max_rows=3, counts_as=counts_as),
        ]
    )


def frames(families: list[Family]) -> dict[str, Any]:
    persons = [(at, letter) for at, (letter, _) in enumerate(families)]
    visits = [(at, 100 * at + i, *v[:2]) for at, (_, rows) in enumerate(families) for i, v in enumerate(rows)]
    labs = [(100 * at + i, lab) for at, (_, rows) in enumerate(families) for i, v in enumerate(rows) for lab in v[2]]
    return {
        "persons": pd.DataFrame(persons, columns=["p", "a"]),
        "visits": pd.DataFrame(visits, columns=["p", "v", "b", "n"]).astype({"b": "object", "n": "int64"}),
        "labs": pd.DataFrame(labs, columns=["v", "c"]).astype({"c": "object"}),
    }


def table(name: str, families: list[Family], related: Related) -> OpenBelow:
    return OpenBelow(OpenRelated(related_tables(frames(families), related)), related[name])


def counted(families: list[Family], related: Related) -> dict[tuple[str, str], int]:
    """What is counted of every value of every open list."""
    found = {}
    for name, column in (("persons", "a"), ("visits", "b"), ("labs", "c")):
        counts = table(name, families, related).count_values(column)
        found |= {(name, v): c for v, c in zip(counts.labels, counts.counts.tolist(), strict=True)}
    return found


def by_hand(families: list[Family], k: int) -> dict[tuple[str, str], int]:
    """The same, row by row, in fractions."""
    found: Counter[tuple[str, str]] = Counter()

    def part(*numbers: int) -> int:
        return int(PARTS * prod(Fraction(min(n, k), n) for n in numbers))

    for letter, visits in families:
        found["persons", letter] += 1
        for ward, _, labs in visits:
            found["visits", ward] += part(len(visits))
            for lab in labs:
                found["labs", lab] += part(len(visits), len(labs))
    return dict(found)


@pytest.mark.parametrize("counts_as", [1, 2])
def test_values_count_what_their_rows_do_and_nobody_moves_more_than_is_declared(counts_as: int) -> None:
    related = schema(counts_as)
    without, reached = counted(OTHERS, related), dict.fromkeys(related.rows, 0)
    for family in FAMILIES:
        found = counted([*OTHERS, family], related)
        assert found == by_hand([*OTHERS, family], counts_as)
        for name in ("persons", "visits", "labs"):
            change = {key: n - without.get(key, 0) for key, n in found.items() if key[0] == name}
            assert all(moved >= 0 for moved in change.values()), "somebody else's rows changed"
            assert sum(change.values()) <= related.rows[name]
            alone = [key for key in change if key not in without]
            assert len(alone) <= related.rows[name]
            reached[name] = max(reached[name], sum(change.values()))
    assert reached["persons"] == 1
    assert reached["visits"] == related.rows["visits"], "the bound is reached"


def test_grids_count_what_rows_do() -> None:
    related = schema()
    cut = Schema([related["visits"].schema.axis("n").cut((0, 2, 60, 100))])
    for family in FAMILIES[::5]:
        families = [*OTHERS, family]
        (found,) = table("visits", families, related).with_schema(cut).count([("n",)])
        wanted: Counter[int] = Counter()
        for _, visits in families:
            for _, value, _ in visits:
                wanted[int(np.digitize(value, (2, 60)))] += int(PARTS * Fraction(min(len(visits), 2), len(visits)))
        assert found.counts.tolist() == [wanted[i] for i in range(3)]


def crowd(values: int) -> dict[str, Any]:
    """One person with so many rows that each counts nothing, each with a value that nobody else holds."""
    found = frames(OTHERS)
    rows = pd.DataFrame({"p": 77, "v": range(10**6, 10**6 + values), "b": [f"own {i}" for i in range(values)], "n": 1})
    found["persons"] = pd.concat([found["persons"], pd.DataFrame({"p": [77], "a": ["x"]})])
    found["visits"] = pd.concat([found["visits"], rows])
    return found


@pytest.mark.parametrize("mutant", [False, True])
def test_rows_that_count_nothing_hold_no_values(mutant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant counts them as there: one person alone then holds more values than the threshold is made for."""
    related = schema(1)
    if mutant:
        whole = open_below.ValueCounts.of
        monkeypatch.setattr(
            open_below, "there", lambda texts, sums: whole((t, c) for t, c in zip(texts, sums, strict=True) if t)
        )
    found = OpenBelow(OpenRelated(related_tables(crowd(2000), related)), related["visits"]).count_values("b")
    own = sum(label.startswith("own") for label in found.labels)
    assert own == (2000 if mutant else 0)
    assert (own > related.rows["visits"]) == mutant


def test_the_mutant_of_whole_rows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    related = schema(1)
    monkeypatch.setattr(RelatedSource, "parts", lambda self, t: np.full(self.linked[t.name].rows, PARTS))
    found, without = (counted(families, related) for families in ([*OTHERS, FAMILIES[-1]], OTHERS))
    moved = sum(n - without.get(key, 0) for key, n in found.items() if key[0] == "visits")
    assert moved > related.rows["visits"]


def test_a_persons_label_on_several_rows_counts_once_whoever_else_is_there() -> None:
    """Which row counts follows from the person's own labels, not from a list that others fill."""
    persons = Schema([Surrogate("p"), Category("a")])
    rows = Schema([Surrogate("p"), Category("b", categories=("u", "v"))])
    related = Related(
        [Table("persons", persons, "p", first_of="rows"), Table("rows", rows, "p", "persons", max_rows=3)]
    )
    own = [(1, "x", "u"), (1, "y", "v"), (1, "z", "u"), (2, "y", "u")]

    def found(more: list[tuple[int, str, str]], at: int) -> dict[str, int]:
        both = pd.DataFrame([*own[:at], *more, *own[at:]], columns=["p", "a", "b"])
        counts = OpenBelow(OpenRelated(related_tables({"rows": both}, related)), related["persons"]).count_values("a")
        return dict(zip(counts.labels, counts.counts.tolist(), strict=True))

    alone = found([], 0)
    assert sum(alone.values()) == 2
    for at in range(5):
        for letters in product("wxyz", repeat=2):
            together = Counter(found([(9, letter, "u") for letter in letters], at))
            together.subtract(alone)
            assert sorted(together.values())[-1] == sum(together.values()) == 1


def test_thresholds_state_their_table_and_stand_against_all_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    related = schema()
    families = [*OTHERS, *FAMILIES] * 40
    request = ReleaseRequest(
        dataset="t", policy="default", method="kage", budget=Budget(8.0, 1e-6), accounting=Accounting.GDP,
        key="", details={}, delta_share=0.1,
    )  # fmt: skip
    limit = Filter(request.budget, request.accounting, delta_share=0.1)
    with Release(request, limit, opened(None), SimulatedNoise(np.random.default_rng(1))) as release:
        finder = Finder(table("visits", families, related), release, share=Share("visits", related.rows["visits"]))
        assert finder.find_values("b", 0.1, 1e-8) == ["u", "v", "w"]
        (event,) = release.events
    assert isinstance(event, ThresholdEvent)
    assert event.query is not None
    assert (event.query.table, event.query.rows, event.rows) == ("visits", 2 * PARTS, 2 * PARTS)
    assert event.l2_squared == (2 * PARTS) ** 2
    assert event.threshold > 2 * PARTS


OPEN = """
version = 1
[tables.patients]
key = "p"
[tables.patients.columns.sex]
kind = "category"
[tables.visits]
parent = "patients"
key = "p"
order = "day"
max_rows = 4
[tables.visits.columns.day]
kind = "integer"
lower = 0
upper = 9
[tables.visits.columns.ward]
kind = "category"
[tables.visits.columns.stay]
kind = "integer"
bins = 4
"""


def hospital(persons: int = 3000) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(persons), rng.integers(0, 5, persons))
    ward = rng.choice(["a", "b", "rare"], len(who), p=[0.6, 0.3999, 0.0001])
    visits = {"p": who, "day": rng.integers(0, 10, len(who)), "ward": ward, "stay": rng.poisson(4, len(who))}
    patients = pd.DataFrame({"p": np.arange(persons), "sex": rng.choice(["F", "M"], persons)})
    return {"patients": patients, "visits": pd.DataFrame(visits)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("kagemusha.synthesizers.next_rows.DRAWN", 300)
    monkeypatch.setattr("kagemusha.synthesizers.related_fit.PARENTS", 300)
    (tmp_path / "schema.toml").write_text(OPEN, encoding="utf-8")
    (tmp_path / "tables").mkdir()
    for name, one in hospital().items():
        one.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    return tmp_path


def test_a_release_finds_what_its_schema_leaves_open(place: Path, run: Run) -> None:
    asked = ("synth", place / "tables", "--schema", place / "schema.toml", "--out", place / "doubles")
    assert "discover=0.05 (--discover 0.05)" in run(*asked, code=5).stderr
    run(*asked, "--epsilon", 8, "--discover", 0.2)
    model = kg.load_related(place / "doubles")
    assert model.schema["patients"].schema["sex"].categories == ("F", "M")  # type: ignore[attr-defined]
    assert model.schema["visits"].schema["ward"].categories == ("a", "b")  # type: ignore[attr-defined]
    stay = model.schema["visits"].schema.axis("stay")
    assert 0 <= stay.low <= 2
    assert 8 <= stay.high <= 16
    assert all(check.passed for check in kg.verify(place / "doubles"))
    certificate = model.certificate
    assert certificate.parameters["discovered"]
    assert certificate.epsilon == 8.0
    assert {e.query.table for e in certificate.events if isinstance(e, ThresholdEvent) and e.query} == {
        "patients",
        "visits",
    }


def test_an_interrupted_discovery_goes_on_and_pays_nothing_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = {"schema": place / "schema.toml", "ledger": place / "ledger.db", "cap": 8.0, "discover": 0.2}
    with monkeypatch.context() as patched:
        patched.setattr("kagemusha.synthesizers.related_fit.shares_of", lambda schema: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            kg.release_related(place / "tables", place / "doubles", 8.0, **where)
    certificate = kg.release_related(place / "tables", place / "doubles", 8.0, **where)
    assert certificate.epsilon == 8.0


def test_tables_of_a_database_are_found_the_same(place: Path) -> None:
    with duckdb.connect(str(place / "t.db")) as db:
        for name, one in hospital().items():
            db.register("given", one)
            db.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    found = [
        kg.fit_related(where, 8.0, schema=place / "schema.toml", discover=0.2, simulation=3).schema.digest()
        for where in (f"duckdb:///{place}/t.db", place / "tables", hospital())
    ]
    assert found[0] == found[1] == found[2]


OWN = "[[tables.visits.constraint]]\nrule = \"ward = 'a' implies stay > 0\"\n"
ACROSS = "[[tables.visits.constraint]]\nrule = \"patients.sex = 'F' implies day > 0\"\n"


@pytest.mark.parametrize(
    ("rule", "share", "why"),
    [
        ("", None, r"4 facts of the schema are open .*discover=0.05"),
        ("", 1.5, "greater than 0 and less than 1"),
        (OWN, 0.1, "rule.*speaks of it, so declare its categories"),
        (ACROSS, 0.1, "speaks of patients.sex, so declare"),
    ],
)
def test_what_cannot_be_found_is_refused_before_anything_is_read(rule: str, share: float | None, why: str) -> None:
    related = read_declared(OPEN.replace("[tables.visits]", f"{rule}[tables.visits]", 1))
    with pytest.raises(KagemushaError, match=why):
        kg.fit_related({"patients": None, "visits": None}, 1.0, schema=related, discover=share)  # type: ignore[arg-type]
