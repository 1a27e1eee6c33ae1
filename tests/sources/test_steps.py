"""What one person with everything below moves in counts of related tables: all neighbours of tiny families."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from kagemusha.errors import DataError, UsageError
from kagemusha.privacy.budget import Adjacency, PrivacyUnit
from kagemusha.privacy.query_kinds import COUNTS
from kagemusha.schema import Category, Integer, Schema, Surrogate
from kagemusha.schema.related import PARTS, Related, Table
from kagemusha.sources import steps
from kagemusha.sources.linked import Keys, ReadTable
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource

Family = tuple[str, tuple[tuple[int, str, int], ...]]
"""A person's letter; the day, the letter and the number of labs of each visit."""

FAMILIES: list[Family] = [
    (letter, rows)
    for size in range(4)
    for letter in "xy"
    for rows in combinations_with_replacement(list(product((0, 1), "uv", (0, 2))), size)
]


def related(*, counts_as: int = 1, order: bool = True, labs_as: int = 2) -> Related:
    persons = Schema([Surrogate("p"), Category("a", categories=("x", "y"), out_of_domain="clip")])
    visits = Schema(
        [
            Surrogate("p"),
            Surrogate("v"),
            Integer("day", lower=0, upper=1),
            Category("b", categories=("u", "v"), out_of_domain="clip"),
        ]
    )
    labs = Schema([Surrogate("v"), Category("c", categories=("s", "t"), out_of_domain="clip")])
    return Related(
        [
            Table("persons", persons, "p"),
            Table("visits", visits, "p", "persons", "v", "day" if order else None, max_rows=3, counts_as=counts_as),
            Table("labs", labs, "v", "visits", max_rows=3, counts_as=labs_as),
        ]
    )


def frames(families: list[Family], seed: int | None = None) -> dict[str, Any]:
    """Tables of these families; with a seed the rows come in another order."""
    persons, visits, labs = [], [], []
    for person, (letter, rows) in enumerate(families):
        persons.append((person, letter))
        for day, b, count in rows:
            visits.append((person, 100 * person + len(visits), day, b))
            labs += [(visits[-1][1], "st"[i % 2]) for i in range(count)]
    tables = {
        "persons": pd.DataFrame(persons, columns=["p", "a"]).astype({"p": "int64", "a": "object"}),
        "visits": pd.DataFrame(visits, columns=["p", "v", "day", "b"]).astype({"p": "int64", "v": "int64"}),
        "labs": pd.DataFrame(labs, columns=["v", "c"]).astype({"v": "int64", "c": "object"}),
    }
    if seed is None:
        return tables
    return {name: table.sample(frac=1, random_state=seed + i) for i, (name, table) in enumerate(tables.items())}


def counts(families: list[Family], schema: Related, seed: int | None = None) -> dict[tuple[str, ...], np.ndarray]:
    """Every table over one or two columns of every view."""
    source = open_related(frames(families, seed), schema)
    found = {}
    for view in schema.rows:
        own = source.source(view)
        cliques = [(), *((n,) for n in own.domain), *combinations(own.domain.names, 2)]
        for marginal in own.count(cliques):
            found[(view, *marginal.clique)] = marginal.counts
    return found


def moved(schema: Related, families: list[Family]) -> Iterator[tuple[str, np.ndarray]]:
    """View, and what each family moves in each of its tables when it comes to others."""
    others: list[Family] = [("x", ((0, "u", 2), (1, "v", 0))), ("y", ((1, "v", 2),))]
    without = counts(others, schema)
    for place, family in enumerate(families):
        together = counts([*others[:1], family, *others[1:]] if place % 2 else [family, *others], schema)
        for key, table in together.items():
            yield key[0], table - without[key]


def worst(schema: Related, families: list[Family]) -> dict[str, int]:
    """For each view the most that any family moves in L1."""
    found: dict[str, int] = {}
    for view, change in moved(schema, families):
        assert (change >= 0).all(), "somebody else's rows changed"
        found[view] = max(found.get(view, 0), int(change.sum()))
    return found


@pytest.mark.parametrize("counts_as", [1, 2])
@pytest.mark.parametrize("order", [True, False])
def test_no_person_moves_more_than_is_declared(counts_as: int, order: bool) -> None:
    schema = related(counts_as=counts_as, order=order)
    found = worst(schema, FAMILIES[::5])
    for view, rows in schema.rows.items():
        assert found[view] <= rows
    assert found["persons"] == 1
    assert found["visits"] == PARTS * counts_as, "the bound is reached"
    assert found["labs"] == 2 * PARTS * counts_as


def test_a_person_in_the_place_of_another_moves_at_most_twice_that_in_l1_and_twice_its_square_in_l2() -> None:
    schema = related(counts_as=2)
    unit = PrivacyUnit(Adjacency.REPLACE)
    changes: dict[tuple[int, ...], list[np.ndarray]] = {}
    family = [f for f in FAMILIES if len(f[1]) in (0, 1, 3)][::9]
    tables = [counts([("x", ((0, "u", 0),)), f], schema) for f in family]
    assert not changes
    for one, other in combinations(tables, 2):
        for key, table in one.items():
            most = unit.of_rows(schema.rows[key[0]]).sensitivity(COUNTS)
            change = table - other[key]
            assert np.abs(change).sum() <= most.l1
            assert (change**2).sum() <= most.l2_squared


def test_the_order_of_rows_says_nothing() -> None:
    families = FAMILIES[3::17]
    for schema in (related(), related(order=False)):
        first = counts(families, schema)
        for seed in range(3):
            again = counts(families, schema, seed)
            assert all((again[key] == table).all() for key, table in first.items())


def test_all_rows_count_and_each_parents_by_its_share() -> None:
    families: list[Family] = [("x", ((0, "u", 0),) * 3), ("y", ((1, "v", 0),))]
    found = counts(families, related(counts_as=2))
    assert found["visits", "b"].tolist() == [2 * PARTS, PARTS]
    assert found["persons", "number of visits"].tolist() == [0, 1, 1]  # 2 and 3 have one code, up to max_rows


def test_places_gaps_and_rows_before() -> None:
    families: list[Family] = [("x", ((1, "u", 0), (0, "v", 0)))]
    found = counts(families, related(counts_as=2))
    assert found["visits", "place among siblings", "b"][0].tolist() == [0, PARTS], "the earlier day comes first"
    assert found["visits-next", "previous b", "b"].tolist() == [[0, 0], [PARTS, 0], [0, PARTS]]
    assert found["visits", "gap of day"].tolist()[-1] == PARTS


@pytest.mark.parametrize("name", ["whole rows", "the row before is anybody's"])
def test_mutants_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "whole rows":
        whole = lambda self, table: np.full(self.linked[table.name].rows, PARTS)  # noqa: E731
        monkeypatch.setattr(steps.RelatedSource, "parts", whole)
        found = worst(related(counts_as=1), FAMILIES[::7])
        assert found["visits"] > related().rows["visits"]
        return
    monkeypatch.setattr(steps, "starts_of", lambda parents: np.arange(len(parents)) == 0)
    with pytest.raises(AssertionError, match="somebody else"):
        worst(related(counts_as=1), FAMILIES[::7])


def test_rows_are_not_handed_out() -> None:
    source = open_related(frames(FAMILIES[::9]), related()).source("visits")
    for read in (source.records, lambda: list(source.batches())):
        with pytest.raises(UsageError, match="counts alone"):
            read()


def test_keys_that_do_not_fit_are_named_before_anything_is_spent() -> None:
    tables = frames(FAMILIES[3::9])
    twice = {**tables, "persons": pd.concat([tables["persons"], tables["persons"].head(2)])}
    with pytest.raises(DataError, match=r"persons: 2 rows have an identifier in 'p' that another row has"):
        open_related(twice, related()).source("persons")
    lost = {**tables, "persons": tables["persons"].iloc[1:]}
    lost["visits"] = tables["visits"].assign(p=lambda t: t["p"].where(t.index > 1, -5))
    with pytest.raises(DataError, match=r"name no row of persons in .p.\. .*orphans = .drop"):
        open_related(lost, related()).source("visits")
    with pytest.raises(UsageError, match="there is no table 'labs'"):
        open_related({k: v for k, v in tables.items() if k != "labs"}, related())


def long(families: list[Family], seed: int | None = None) -> dict[str, Any]:
    """The same as one long table: the person's letter on every row."""
    tables = frames(families)
    rows = tables["visits"].merge(tables["persons"], on="p")[["p", "a", "day", "b"]]
    return {"visits": rows if seed is None else rows.sample(frac=1, random_state=seed)}


def split() -> Related:
    """The schema of a long table as two."""
    schema = related(counts_as=2)
    persons, visits = schema.tables[:2]
    rows = Schema([column for column in visits.schema if column.name != "v"])
    return Related(
        [
            Table("persons", persons.schema, "p", first_of="visits"),
            Table("visits", rows, "p", "persons", order="day", max_rows=3, counts_as=2),
        ]
    )


def test_one_long_table_is_two() -> None:
    families = [f for f in FAMILIES if f[1]][::23]
    schema = split()
    one = open_related(long(families), schema)
    two = open_related(frames(families), related(counts_as=2))
    assert one.source("persons").rows() == len(families)
    for clique in (("a",), ("a", "number of visits")):
        assert (
            one.source("persons").count([clique])[0].counts == two.source("persons").count([clique])[0].counts
        ).all()


def test_where_rows_of_a_person_contradict_each_other_the_first_in_the_order_counts() -> None:
    table = pd.DataFrame({"p": [1, 1, 2], "a": ["x", "y", "y"], "day": [1, 0, 0], "b": ["u", "u", "v"]})
    for seed in range(4):
        source = open_related({"visits": table.sample(frac=1, random_state=seed)}, split())
        assert source.source("persons").count([("a",)])[0].counts.tolist() == [0, 2]


def test_which_row_is_the_first_is_seen_in_the_scan_that_its_columns_come_from(tmp_path: Path) -> None:
    """Persons and rows were read in a scan each: in a view without an order, anybody's row said which is the first."""
    rows = [(person, "xy"[day > 0], day, "u") for person in range(40) for day in (0, 1)]
    with duckdb.connect(str(tmp_path / "t.db")) as db:
        db.register("given", pd.DataFrame(rows, columns=["p", "a", "day", "b"]))
        db.execute("CREATE TABLE kept AS SELECT * FROM given")
        db.execute("CREATE VIEW visits AS SELECT * FROM kept ORDER BY random()")
    for _ in range(3):
        source = open_related(f"duckdb:///{tmp_path}/t.db", split())
        assert source.source("persons").count([("a",)])[0].counts.tolist() == [40, 0]


def test_a_database_has_one_name_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by the address alone, tables that changed since had a fresh budget in another folder."""
    with duckdb.connect(str(tmp_path / "t.a.db")) as db:
        db.register("given", long(FAMILIES[:9])["visits"])
        db.execute("CREATE TABLE visits AS SELECT * FROM given")
    monkeypatch.chdir(tmp_path)
    names = {open_related(where, split()).name for where in ("duckdb:///t.a.db", f"duckdb:///{tmp_path}/t.a.db")}
    assert names == {f"{(tmp_path / 't.a.db').resolve()}#main"}


def test_a_person_of_a_long_table_moves_no_more() -> None:
    others: list[Family] = [("x", ((0, "u", 0), (1, "v", 0)))]
    schema = split()
    without = {view: open_related(long(others), schema).source(view) for view in schema.rows}
    for family in [f for f in FAMILIES if f[1]][::31]:
        source = open_related(long([*others, family]), schema)
        for view, rows in schema.rows.items():
            for clique in ((), *combinations(source.source(view).domain.names, 2)):
                before, after = (s.count([clique])[0].counts for s in (without[view], source.source(view)))
                assert (after >= before).all()
                assert (after - before).sum() <= rows


def test_keys_come_in_any_form() -> None:
    families = FAMILIES[3::17]
    plain = frames(families)
    wanted = counts(families, related())
    letters = {p: f"P{p % 7}{p}" for p in plain["persons"]["p"]}
    order = sorted(letters.values(), reverse=True)
    for form in (
        lambda keys: pd.Categorical(keys.map(letters), categories=["nobody", *order]),
        lambda keys: keys.map(letters).astype("string"),
        lambda keys: keys.astype(float),
        lambda keys: keys.astype(str) + ".0",
    ):
        tables = {name: plain[name].assign(p=lambda t, form=form: form(t["p"])) for name in ("persons", "visits")}
        source = open_related({**plain, **tables}, related())
        for (view, *clique), table in wanted.items():
            assert (source.source(view).count([tuple(clique)])[0].counts == table).all()
    lost = plain["visits"].assign(p=pd.Categorical(plain["visits"]["p"].map(letters).where(lambda t: t.index > 1)))
    named = plain["persons"].assign(p=plain["persons"]["p"].map(letters))
    with pytest.raises(DataError, match="visits: 2 rows name no row of persons"):
        open_related({**plain, "persons": named, "visits": lost}, related()).source("visits")


def test_a_person_of_very_many_rows_counts_nothing_rather_than_too_much() -> None:
    """Of rows whose numbers multiply to just above 2⁶⁴, each once counted as if they were alone."""
    many, path = (105_893, 10_529, 120_811, 136_949), "abcd"
    tables = [Table("persons", Schema([Surrogate("p"), Category("x", categories=("u", "v"))]), "p")]
    read = {"persons": ReadTable([np.zeros(1, np.int8)], Keys.of(["0"]), None, None)}
    key, parent = "p", tables[0]
    for name, rows in zip(path, many, strict=True):
        own = None if name == path[-1] else f"{name} id"
        columns = [Surrogate(key), *([] if own is None else [Surrogate(own)]), Category("x", categories=("u", "v"))]
        tables.append(Table(name, Schema(columns), key, parent.name, own))
        ids = None if own is None else Keys.of([str(row) for row in range(rows)])
        read[name] = ReadTable([np.zeros(rows, np.int8)], Keys.of(["0"] * rows), ids, None)
        key, parent = own or key, tables[-1]
    schema = Related(tables)
    (counted,) = RelatedSource(schema, read).source("d").count([()])
    assert 0 <= counted.counts <= schema.rows["d"]
