"""Tables that must be right and answers of acceptance: published, checked again, and forged in vain."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from forgeries import read

from command import Run
from kagemusha.certificate.page import render
from kagemusha.files import sha256
from kagemusha.folder.required_tables import published_tables
from kagemusha.forensics.verify import verify_release
from kagemusha.models.model import Model, load_model
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.schema.demands import Criterion, Demands, RequiredTable
from kagemusha.sources import open_source
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = Schema(
    [
        Category("ward", categories=("a", "=b", "c"), out_of_domain="clip"),
        Category("性別", categories=("F", "M"), out_of_domain="clip"),
        Integer("stay", lower=0, upper=9),
        Category("died", categories=("no", "yes"), out_of_domain="clip"),
    ],
    demands=Demands(
        (RequiredTable(("ward", "性別"), weight=2), RequiredTable(("性別",)), RequiredTable(("died", "stay"))),
        (Criterion(0.3, tables=("ward", "性別", "died")), Criterion(0.001, mean="stay", share=0.03)),
    ),
)
FILES = ["tables/1-ward.csv", "tables/2.csv", "tables/3-stay-died.csv"]


def people(rows: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ward = rng.choice(3, rows, p=[0.6, 0.3, 0.1])
    return pd.DataFrame(
        {
            "ward": np.array(["a", "=b", "c"])[ward],
            "性別": np.where(rng.random(rows) < 0.3 + 0.2 * ward, "F", "M"),
            "stay": np.minimum(9, rng.poisson(2 + ward)),
            "died": np.where(rng.random(rows) < 0.1, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import kagemusha as kg

    where = tmp_path_factory.mktemp("release") / "doubles"
    model = fit(create("kage"), people(), Budget(1.0, 1e-6), schema=SCHEMA)
    kg.publish(model, where)
    return where


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "doubles"))


def refused(folder: Path) -> str:
    """What is said of the first thing that does not hold."""
    return next(f"{check.what}: {check.detail}" for check in verify_release(folder).checks if not check.passed)


def mended(folder: Path, parameters: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
    """Every hash, page and certificate made to fit what lies there, the one inside the model, too."""
    told = read(folder)
    changed = json.loads(json.dumps(dict(told.parameters)))
    parameters(changed)
    told = replace(told, parameters=changed)
    inner = replace(told, outputs=None, page=None)
    replace(load_model(folder / "model.kage"), certificate=inner).save(folder / "model.kage")
    names = [n for n in told.outputs or {} if (folder / n).is_file()]
    names += [f for f in map(str, (p.relative_to(folder) for p in folder.glob("tables/*"))) if f not in names]
    bound = told.with_outputs({name: sha256(folder / name) for name in names})
    (folder / "certificate.json").write_text(bound.to_json(), encoding="utf-8")
    (folder / "certificate.html").write_text(render(bound), encoding="utf-8")


def test_a_release_publishes_its_tables(folder: Path) -> None:
    assert sorted(str(path.relative_to(folder)) for path in folder.glob("tables/*")) == FILES
    with (folder / FILES[0]).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["ward", "性別", "count", "low", "high", "doubles"]
    assert [tuple(row[:2]) for row in rows] == [(w, s) for w in ("a", "=b", "c") for s in ("F", "M")]
    model = load_model(folder / "model.kage")
    assert [int(row[2]) for row in rows] == model.measurements[0].values.ravel().tolist()
    assert [float(row[5]) for row in rows] == pytest.approx(model.project(("ward", "性別")).ravel().tolist(), abs=0.06)
    doubles = pd.read_csv(folder / "synthetic.csv").groupby(["ward", "性別"]).size()
    for row in rows:
        assert doubles.get((row[0], row[1]), 0) == pytest.approx(float(row[5]), abs=3)
        assert int(row[3]) <= max(0, int(row[2])) <= int(row[4])


def test_the_release_is_intact_and_can_be_replaced(folder: Path, copy: Path) -> None:
    import kagemusha as kg

    verdict = verify_release(folder)
    assert verdict.intact
    said = {check.what: check.detail for check in verdict.checks}
    assert said["tables that must be right"] == "say what was measured, and what the doubles have"
    assert "within 30 %: kept" in said["acceptance"]
    with pytest.raises(kg.KagemushaError, match="already exists"):
        kg.publish(load_model(folder / "model.kage"), copy)
    kg.publish(load_model(folder / "model.kage"), copy, replace=True)
    assert verify_release(copy).intact


def test_a_stranger_among_the_tables_is_never_replaced_or_accepted(copy: Path) -> None:
    import kagemusha as kg

    (copy / "tables" / "private.csv").write_text("secret")
    assert "tables/private.csv: no release holds a file of this name" in refused(copy)
    with pytest.raises(kg.KagemushaError, match=r"private\.csv"):
        kg.publish(load_model(copy / "model.kage"), copy, replace=True)


def flatter(text: str) -> str:
    """Each interval half as wide."""
    header, *rows = text.splitlines()
    changed = [row.split(",") for row in rows]
    for row in changed:
        row[-3] = row[-4]
    return "\n".join([header, *(",".join(row) for row in changed)]) + "\n"


def doubled(path: Path) -> str:
    """The doubles' count of the first cell is another one."""
    header, first, *rows = path.read_text(encoding="utf-8").splitlines()
    words, _, count = first.rpartition(",")
    return "\n".join([header, f"{words},{float(count) + 1:.1f}", *rows]) + "\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda f: (f / FILES[0]).write_text(flatter((f / FILES[0]).read_text(encoding="utf-8")), encoding="utf-8"),
        lambda f: (f / FILES[0]).write_text("ward,性別,count,low,high,doubles\n", encoding="utf-8"),
        lambda f: (f / FILES[0]).write_bytes(b"\xff\xfe"),
        lambda f: (f / FILES[1]).unlink(),
        lambda f: shutil.copy(f / FILES[1], f / "tables" / "4.csv"),
        lambda f: (f / FILES[0]).write_text(doubled(f / FILES[0]), encoding="utf-8"),
    ],
    ids=["narrower intervals", "no rows", "no text", "left out", "one more", "other doubles"],
)
def test_forged_tables_do_not_hold(copy: Path, change: Callable[[Path], object]) -> None:
    change(copy)
    assert not verify_release(copy).intact, "hashes differ"
    mended(copy)
    assert "tables that must be right" in refused(copy)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p["acceptance"][1].update(answer="kept"),
        lambda p: p["acceptance"][1].update(excess=-(10**9)),
        lambda p: p["acceptance"][1].update(excess=True),
        lambda p: p["acceptance"][0].update(found="about 0 %, give or take 0 %"),
        lambda p: p["acceptance"].pop(),
        lambda p: p.pop("acceptance"),
        lambda p: p["acceptance"].reverse(),
    ],
    ids=["another answer", "another number", "no number", "other words", "one left out", "all left out", "in turn"],
)
def test_forged_answers_do_not_hold(copy: Path, change: Callable[[dict[str, Any]], None]) -> None:
    mended(copy)
    assert verify_release(copy).intact, "mending alone forges nothing"
    mended(copy, change)
    assert "acceptance" in refused(copy)


def test_intervals_hold_as_often_as_they_say() -> None:
    """95 of 100 counts, over many releases with the noise that releases have."""
    held = cells = 0
    source = open_source(people(), SCHEMA)
    for seed in range(40):
        model: Model = fit(create("independent"), people(), Budget(1.0, 1e-6), schema=SCHEMA, simulation=seed)
        for table in published_tables(model):
            (real,) = source.count([table.clique])
            low_high = np.array([[int(row[-3]), int(row[-2])] for row in table.rows()])
            counts = real.counts.ravel()
            held += int(((low_high[:, 0] <= counts) & (counts <= low_high[:, 1])).sum())
            cells += counts.size
    assert 0.935 <= held / cells <= 0.975


def test_the_command_line_says_all_of_it(tmp_path: Path, run: Run) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    SCHEMA.save(tmp_path / "people.toml")
    plan = run("plan", "people.toml", "--rows", 3000).stdout
    assert "required counts of ward × 性別" in plan
    assert "acceptance" in plan
    assert "95 of 100 counts to within" in plan
    assert "tested to within" in plan
    done = run("synth", "people.csv", "--schema", "people.toml", "--out", "d", "--epsilon", 2, "--spreadsheet-safe")
    assert "tables/1-ward.csv" in done.stdout
    assert "Accepted?   all two-way tables of ward, 性別, died within 30 %: kept" in done.stdout
    assert "'=b,F," in (tmp_path / "d" / FILES[0]).read_text(encoding="utf-8")
    assert "tables that must be right: say what was measured" in run("verify", "d").stdout
    page = (tmp_path / "d" / "certificate.html").read_text(encoding="utf-8")
    assert "Was it good enough?" in page
    assert "Tables that must be right" in (tmp_path / "d" / "quality.html").read_text(encoding="utf-8")
    refusal = run("synth", "people.csv", "--schema", "people.toml", "--out", "e", "--method", "gaussian", code=2)
    assert "keeps no tables that must be right" in refusal.stderr


def test_that_no_rule_is_broken_costs_nothing_and_is_checked(tmp_path: Path) -> None:
    import kagemusha as kg
    from kagemusha.planning.demanded import in_words, with_demands

    ruled = SCHEMA.with_constraints("never ward = 'c' and died = 'yes'")
    own = replace(ruled, demands=Demands((), (Criterion(rules=True), Criterion(0.3, tables=("ward", "died")))))
    alone = replace(ruled, demands=Demands((), (Criterion(rules=True),)))
    method = create("kage")
    plain = method.plan(own.domain, Budget(1.0))
    assert with_demands(plain, alone).steps == plain.steps
    assert "by construction, for nothing" in in_words(own, method, Budget(1.0), 1000)[0]
    model = fit(method, people(), Budget(1.0, 1e-6), schema=own)
    first, second = model.certificate.parameters["acceptance"]
    assert (first["answer"], second["criterion"]) == ("kept", "all two-way tables of ward, died within 30 %")
    assert "no budget was spent" in first["found"]
    asked = [event for event in model.certificate.events if event.query and event.query.kind == "tables-within"]
    assert len(asked) <= 1
    kg.publish(model, tmp_path / "doubles")
    assert verify_release(tmp_path / "doubles").intact
    doubles = pd.read_csv(tmp_path / "doubles" / "synthetic.csv")
    assert not ((doubles.ward == "c") & (doubles.died == "yes")).any()
    mended(tmp_path / "doubles", lambda p: p["acceptance"][0].update(found="nothing at all"))
    assert "not what follows from construction" in refused(tmp_path / "doubles")
    cheap = fit(create("independent"), people(500), Budget(1.0, 1e-6), schema=alone, simulation=0)
    assert [one["answer"] for one in cheap.certificate.parameters["acceptance"]] == ["kept"]
