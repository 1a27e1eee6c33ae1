"""The quality statement of related tables: it holds, it says all that was promised, and its pages show it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kagemusha as kg
from kagemusha.models.related import RelatedModel
from kagemusha.quality.related import judged_parts, page, related_quality_files, to_json
from kagemusha.schema import Category, Integer, Schema, Surrogate
from kagemusha.schema.related import Related, Table
from kagemusha.schema.views import NEXT
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource


def declared() -> Related:
    persons = Schema(
        [Surrogate("p"), Category("sex", categories=("F", "M")), Integer("age", lower=0, upper=99, bins=5)]
    )
    visits = Schema(
        [
            Surrogate("p"),
            Integer("day", lower=0, upper=399, bins=6),
            Category("ward", categories=("a", "b", "c")),
            Integer("stay", lower=0, upper=9, bins=5),
        ]
    )
    return Related([Table("persons", persons, "p"), Table("visits", visits, "p", "persons", order="day", max_rows=9)])


def families(persons: int, seed: int) -> dict[str, object]:
    import pandas as pd

    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, persons)
    own = np.where(age > 60, 0, rng.integers(0, 3, persons))
    who = np.repeat(np.arange(persons), rng.integers(0, 10, persons))
    ward = np.where(rng.random(len(who)) < 0.8, own[who], rng.integers(0, 3, len(who)))
    stay = np.clip(rng.poisson(1 + 2 * ward), 0, 9)
    table = {"p": who, "day": rng.integers(0, 400, len(who)), "ward": np.array(list("abc"))[ward], "stay": stay}
    people = {"p": np.arange(persons), "sex": rng.choice(["F", "M"], persons), "age": age}
    return {"persons": pd.DataFrame(people), "visits": pd.DataFrame(table)}


@pytest.fixture(scope="module")
def made() -> tuple[RelatedModel, RelatedSource, RelatedSource]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kagemusha.synthesizers.next_rows.DRAWN", 800)
        tables = families(2_000, 1)
        model = kg.fit_related(tables, 4.0, schema=declared(), simulation=1)
    doubles = open_related(model.sample(2_000, seed=1, like="pyarrow"), declared().apart)
    return model, doubles, open_related(tables, declared())


def test_nine_of_ten_intervals_hold(made: tuple[RelatedModel, RelatedSource, RelatedSource]) -> None:
    model, doubles, real = made
    held = []
    for part in judged_parts(model, doubles):
        for one in part.judged:
            name = part.table + (NEXT if "next" in part.what else "")
            shares = [
                counts / counts.sum()
                for source in (real, doubles)
                for counts in [source.source(name).count([one.clique])[0].counts]
            ]
            error = float(np.abs(shares[0] - shares[1]).sum())
            held.append(one.low - 1e-9 <= error <= one.high + 1e-9)
    assert len(held) > 20
    assert np.mean(held) >= 0.85


def test_every_kind_of_pair_is_judged(made: tuple[RelatedModel, RelatedSource, RelatedSource]) -> None:
    model, doubles, _ = made
    parts = {(part.table, part.what): part for part in judged_parts(model, doubles)}
    pairs = parts["visits", "pairs inside a row"].judged
    assert {frozenset(one.clique) for one in pairs} == {
        frozenset(pair) for pair in (("day", "ward"), ("day", "stay"), ("ward", "stay"))
    }
    beside = {one.clique for one in parts["visits", "a column beside one of parent or person"].judged}
    assert ("persons: age", "ward") in beside
    after = {one.clique for one in parts["visits", "a column beside itself in the next row"].judged}
    assert ("previous ward", "ward") in after
    assert [one.clique for one in parts["persons", "numbers of rows"].judged] == [("number of visits",)]


def test_doubles_of_others_are_found_out(made: tuple[RelatedModel, RelatedSource, RelatedSource]) -> None:
    """Rows that were dealt to others have the same rows and other sequences."""
    model, doubles, _ = made
    tables = model.sample(2_000, seed=1, like="pandas")
    tables["visits"]["p"] = np.random.default_rng(1).permutation(tables["visits"]["p"].to_numpy())
    dealt = open_related(tables, declared().apart)

    def ends(source: RelatedSource, what: str) -> float:
        (part,) = [p for p in judged_parts(model, source) if (p.table, p.what) == ("visits", what)]
        return part.middle[0]

    assert ends(dealt, "a column beside itself in the next row") > 2 * ends(
        doubles, "a column beside itself in the next row"
    )
    assert ends(dealt, "pairs inside a row") < 0.1


def test_the_page_is_made_of_released_numbers_alone(made: tuple[RelatedModel, RelatedSource, RelatedSource]) -> None:
    model, doubles, _ = made
    files = related_quality_files(model, doubles)
    assert files == related_quality_files(model, doubles)
    document = json.loads(files["quality.json"])
    assert set(document["tables"]) == {"persons", "visits"}
    assert to_json(model, judged_parts(model, doubles)).encode() == files["quality.json"]
    shown = page(model, doubles, judged_parts(model, doubles))
    assert shown.count("<svg") == 3
    assert "How many rows the doubles of persons have" in shown
    assert "ward: before" in shown
    assert "<script" not in shown
    assert "http" not in shown.replace("http-equiv", "")
