"""A person's whole family is the target of a game: what its worlds hold, and a game from the command line."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Run
from kagemusha.attacks.synthesis.families import Families, families_of
from kagemusha.attacks.table import World
from kagemusha.errors import UsageError
from kagemusha.privacy.budget import Budget
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import Related
from kagemusha.sources.families import Family
from kagemusha.sources.several import open_related
from kagemusha.sources.steps import RelatedSource

TEXT = """
version = 1
[tables.persons]
key = "p"
[tables.persons.columns.sex]
kind = "category"
categories = ["F", "M"]
[tables.visits]
parent = "persons"
key = "p"
id = "v"
order = "day"
max_rows = 4
[tables.visits.columns.day]
kind = "integer"
lower = 0
upper = 9
[tables.labs]
parent = "visits"
key = "v"
max_rows = 2
[tables.labs.columns.c]
kind = "category"
categories = ["s", "t"]
"""


def frames(persons: int = 30) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(persons), rng.integers(0, 5, persons))
    of = np.repeat(np.arange(len(who)), rng.integers(0, 3, len(who)))
    return {
        "persons": pd.DataFrame({"p": np.arange(persons), "sex": rng.choice(["F", "M"], persons)}),
        "visits": pd.DataFrame({"p": who, "v": np.arange(len(who)), "day": rng.integers(0, 10, len(who))}),
        "labs": pd.DataFrame({"v": of, "c": rng.choice(["s", "t"], len(of))}),
    }


def schema() -> Related:
    found = read_declared(TEXT)
    assert isinstance(found, Related)
    return found


def counts(source: RelatedSource) -> dict[str, np.ndarray]:
    found = {}
    for view in schema().rows:
        whole = source.source(view)
        pairs = list(combinations(whole.domain.names, 2))
        found |= {f"{view}: {m.clique}": m.counts for m in whole.count(pairs)}
    return found


def test_families_under_fresh_keys_are_the_same_families() -> None:
    source = open_related(frames(), schema())
    every, again = counts(source), counts(families_of(source, np.random.default_rng(1).permutation(30)))
    assert all((every[key] == again[key]).all() for key in every)


def test_a_world_lacks_one_person_with_everything_below_and_nothing_else() -> None:
    source = open_related(frames(), schema())
    every = counts(source)
    for person in range(0, 30, 5):
        without = counts(families_of(source, np.delete(np.arange(30), person)))
        alone = counts(families_of(source, np.array([person])))
        assert all((every[key] - without[key] == alone[key]).all() for key in every)
    twice = counts(families_of(source, np.array([3, 3])))
    assert all((twice[key] == 2 * table).all() for key, table in counts(families_of(source, np.array([3]))).items())


def test_people_are_found_by_their_records() -> None:
    maker = Families("kage", Family(schema()), open_related(frames(), schema()), Budget(1.0), {})
    world = World(maker.table, minus=(4,))
    found = maker.persons(world.codes)
    assert len(found) == 29
    assert (maker.table.codes[found] == world.codes).all()
    with pytest.raises(UsageError, match="only random and selective"):
        maker.persons(np.full((1, maker.table.codes.shape[1]), 2, dtype=np.int32))


@pytest.mark.slow
def test_a_game_from_the_command_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "schema.toml").write_text(TEXT, encoding="utf-8")
    for name, table in frames(60).items():
        table.to_csv(tmp_path / "tables" / f"{name}.csv", index=False)
    asked = (
        "attack",
        tmp_path / "tables",
        "--schema",
        tmp_path / "schema.toml",
        "--jobs",
        1,
        "--out",
        tmp_path / "a.html",
    )
    few = ("--trainings", 3, "--references", 2, "--shadows", 2, "--targets", "selective")
    found = json.loads(run(*asked, *few, "--json").stdout)
    assert found["makers"]
    assert "whole family" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "only random and selective" in run(*asked, *few[:-1], "adaptive", "--force", code=2).stderr
    assert "--command is for one table" in run(*asked, "--command", "cat", "--force", code=2).stderr
