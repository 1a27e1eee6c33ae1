"""Choosing among releases: one charge, whatever their number; the nearest one nearly always."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Run
from kagemusha.folder.folder import write_bundle
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.queries.acceptance import LargestError, tables_of
from kagemusha.release.asking import choose
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources import open_source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = Schema(
    [
        Category("ward", categories=("a", "b", "c"), out_of_domain="clip"),
        Category("sex", categories=("F", "M"), out_of_domain="clip"),
        Integer("stay", lower=0, upper=9),
    ]
)


def people(rows: int = 5_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ward = rng.choice(3, rows)
    sex = np.where(rng.random(rows) < 0.2 + 0.3 * ward, "F", "M")
    stay = np.minimum(9, rng.poisson(1 + 2 * ward))
    return pd.DataFrame({"ward": np.array(list("abc"))[ward], "sex": sex, "stay": stay})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("choose")
    people().to_csv(where / "people.csv", index=False)
    SCHEMA.save(where / "people.toml")
    for method in ("independent", "kage"):
        write_bundle(fit(create(method), people(), Budget(3.0, 1e-9), schema=SCHEMA, simulation=1), where / method)
    return where


@pytest.mark.parametrize("rule", [[], ["--rule", "renyi"]], ids=["scores", "exponential"])
def test_the_nearest_is_chosen_and_paid_once(folder: Path, tmp_path: Path, run: Run, rule: list[str]) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    run("ledger", "cap", "people.csv", "--epsilon", 9, "--ledger", "l.db", *rule)
    asked = (
        "choose",
        "people.csv",
        "independent",
        "kage",
        "--schema",
        "people.toml",
        "--epsilon",
        1,
        "--ledger",
        "l.db",
    )
    done = run(*asked, "--certificate", "choice.json")
    assert "Chosen: kage, of 2 releases by 3 two-way tables" in done.stdout
    assert ("of 100 doubles in a wrong cell" in done.stdout) == (not rule)
    assert "intact" in run("verify", "choice.json").stdout
    again = json.loads(run(*asked, "--json").stdout)
    assert again["chosen"] == "kage"
    spent = json.loads(run("ledger", "show", "--ledger", "l.db", "--json").stdout)
    assert len(spent["releases"]) == 1, "asked again, it is the same release"
    told = json.loads((tmp_path / "choice.json").read_text(encoding="utf-8"))
    assert [event["query"]["kind"] for event in told["events"]] == ["largest-error"]
    assert "by 1 two-way table\n" in run(*asked, "--columns", "ward,sex").stdout
    spent = json.loads(run("ledger", "show", "--ledger", "l.db", "--json").stdout)
    assert len(spent["releases"]) == 2, "other tables are another question"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kage"], "at least two releases"),
        (["kage", "people.csv"], "people.csv"),
        (["kage", "independent", "--columns", "ward,hat"], "no modelled column"),
        (["kage", "independent", "--columns", "ward"], "at least two different columns"),
        (["kage", "independent", "--epsilon", 0], "epsilon"),
    ],
)
def test_mistakes_cost_nothing(folder: Path, tmp_path: Path, run: Run, arguments: list[object], words: str) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    rest = ["--schema", "people.toml", "--ledger", "l.db", "--cap", 2]
    rest += [] if "--epsilon" in arguments else ["--epsilon", 1]
    done = run("choose", "people.csv", *arguments, *rest, code=None)
    assert done.returncode in (2, 3, 4, 5), done.stderr
    assert words in done.stderr
    assert not (tmp_path / "l.db").exists()


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_two_worlds_choose_alike_as_far_as_promised(epsilon: float) -> None:
    """The choice itself, through the ledger and the curator: one person decides between two releases, and may not."""
    tables = tables_of(SCHEMA.domain, ("ward", "sex"))
    shape = SCHEMA.domain.shape(tables[0])
    here, there = np.zeros(shape), np.zeros(shape)
    here[0, 0] = there[2, 1] = 1.0
    query = LargestError(["here", "there"], tables, [[here], [there]])
    alone = pd.DataFrame({"ward": ["a", "c"], "sex": ["F", "M"], "stay": [1, 1]})
    frames = [alone, alone.iloc[:1]]
    runs, noise = 250, SimulatedNoise(np.random.default_rng(3))
    sources = [open_source(frame, SCHEMA) for frame in frames]
    budget = Budget(epsilon, 0.0)
    picked = [
        np.mean([choose(source, query, budget, simulation=noise).answer for _ in range(runs)]) for source in sources
    ]
    margin = np.sqrt(np.log(2 / 0.001) / (2 * runs))
    told = np.log(max(picked[0] - margin, 1e-9) / (picked[1] + margin))
    assert told <= epsilon
    assert picked[0] > picked[1] + (2 * margin if epsilon > 1 else 0), "the person does matter"
