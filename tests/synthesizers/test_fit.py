"""What `fit` settles around a synthesizer: names in the ledger, simulations, and what is refused before it is paid."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kagemusha.errors import CapReached, ModelTooLarge, UsageError
from kagemusha.folder.folder import write_bundle
from kagemusha.ledger import open_ledger
from kagemusha.ledger.cap import Cap
from kagemusha.privacy.budget import Budget
from kagemusha.progress import part
from kagemusha.schema import Category, Integer, Real, Schema
from kagemusha.schema.domain import Domain
from kagemusha.sources import open_source
from kagemusha.synthesizers.candidates import COUNTED_CELLS, countable
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SCHEMA = Schema([Category("sex", categories=("F", "M")), Integer("age", lower=0, upper=9)])
BUDGET = Budget(1.0, 1e-9)
SIMPLE = create("independent")


def people(rows: int = 200, share: float = 0.5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"sex": np.where(rng.random(rows) < share, "F", "M"), "age": rng.integers(0, 10, rows)})


def test_a_file_is_one_data_set_however_it_is_opened(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "a.csv", index=False)
    ledger = open_ledger(tmp_path / "l.db")
    fit(SIMPLE, tmp_path / "a.csv", BUDGET, schema=SCHEMA, ledger=ledger)
    source = open_source(tmp_path / "a.csv", SCHEMA)
    again = fit(SIMPLE, source, BUDGET, ledger=ledger)
    assert [r.id for r in ledger.releases()] == [again.certificate.release]
    with pytest.raises(CapReached):
        fit(SIMPLE, source, BUDGET, ledger=ledger, key="another")


def test_the_target_of_the_schema_is_every_methods_own() -> None:
    aimed = SCHEMA.with_target("sex")
    for method in ("kage", "aim", "aim-gdp"):
        told = fit(create(method), people(), BUDGET, schema=aimed, simulation=0).certificate.parameters
        assert told["target"] == "sex", method
        said = fit(create(method, target="age"), people(), BUDGET, schema=aimed, simulation=0).certificate.parameters
        assert said["target"] == "age", "what the method was told goes first"
    assert "target" not in fit(create("mst"), people(), BUDGET, schema=aimed, simulation=0).certificate.parameters
    assert create("nigao").aimed(aimed).target == "sex"  # type: ignore[attr-defined]
    many = Schema([*SCHEMA, Category("town", categories=tuple(map(str, range(500))))], target="town")
    assert create("nigao").aimed(many).target is None, "so many codes are no classes"  # type: ignore[attr-defined]


def test_two_files_never_share_their_answers(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    rows = []
    for name, count in (("a.csv", 100), ("b.csv", 900)):
        people(count).to_csv(tmp_path / name, index=False)
        rows.append(fit(SIMPLE, open_source(tmp_path / name, SCHEMA), BUDGET, ledger=ledger).rows)
    assert rows[1] - rows[0] > 600
    assert len(ledger.releases()) == 2


def test_a_table_in_memory_needs_a_name_in_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pass dataset="):
        fit(SIMPLE, people(), BUDGET, schema=SCHEMA, ledger=tmp_path / "l.db")
    assert not (tmp_path / "l.db").exists()
    fit(SIMPLE, people(), BUDGET, schema=SCHEMA, ledger=tmp_path / "l.db", dataset="people")
    fit(SIMPLE, people(), BUDGET, schema=SCHEMA)


@pytest.mark.parametrize("key", ["", "simulation 5 ", "5"])
def test_no_release_can_take_over_the_answers_of_a_simulation(tmp_path: Path, key: str) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    asked = {"schema": SCHEMA, "ledger": ledger, "dataset": "d"}
    simulated = fit(SIMPLE, people(), BUDGET, simulation=5, **asked)
    other = fit(SIMPLE, people(), BUDGET, simulation=6, **asked)
    release = fit(SIMPLE, people(), BUDGET, key=key, **asked)
    ids = {m.certificate.release for m in (simulated, other, release)}
    assert len(ids) == 3
    assert release.certificate.epsilon == pytest.approx(1.0, abs=1e-6)
    assert not any(
        np.array_equal(a.values, b.values) for a, b in zip(simulated.measurements, release.measurements, strict=True)
    )


def test_what_protects_nobody_is_listed_as_infinite_and_sets_no_cap(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    fit(SIMPLE, people(), Budget(100.0), schema=SCHEMA, ledger=ledger, dataset="d", simulation=1)
    derived = Schema([Category("sex", categories=("F", "M"), derived=("categories",)), SCHEMA["age"]])
    fit(SIMPLE, people(), Budget(100.0), schema=derived, ledger=ledger, dataset="d", allow_derived=True)
    assert [r.epsilon for r in ledger.releases()] == [math.inf, math.inf]
    assert ledger.caps() == []
    fit(SIMPLE, people(), BUDGET, schema=SCHEMA, ledger=ledger, dataset="d")
    assert [cap.budget for cap in ledger.caps()] == [BUDGET]


@pytest.mark.parametrize(
    ("method", "options", "error"),
    [
        ("kage", {"target": "z"}, UsageError),
        ("aim", {"target": "z"}, UsageError),
        ("aim", {"workload": [["sex", "z"]]}, UsageError),
        ("aim", {"max_megabytes": 1e-6}, ModelTooLarge),
        ("mst", {"max_megabytes": 1e-6}, ModelTooLarge),
        ("privbayes", {"max_megabytes": 1e-6}, ModelTooLarge),
        ("privbayes", {"score": "f"}, UsageError),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_reserved(
    tmp_path: Path, method: str, options: dict[str, object], error: type[Exception]
) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    with pytest.raises(error):
        fit(create(method, **options), people(), BUDGET, schema=SCHEMA, ledger=ledger, dataset="d")
    assert ledger.releases() == []


def test_columns_that_no_record_moves_are_no_obstacle() -> None:
    schema = Schema([Real("a", lower=0, upper=1, bins=1), Real("b", lower=0, upper=1, bins=1)])
    table = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [0.4, 0.5, 0.6]})
    for adjacency in ("add-remove", "replace"):
        model = fit(create("gaussian"), table, Budget(5.0, 1e-6, adjacency), schema=schema)
        assert len(model.sample(7)) == 7


def test_a_model_keeps_nothing_of_a_frame_but_its_library() -> None:
    table = people().assign(name=lambda t: pd.Categorical([f"person {i}" for i in range(len(t))]))
    table["sex"] = table["sex"].astype("category")
    schema = Schema([*SCHEMA, Category("name", categories=("nobody",))])
    model = fit(SIMPLE, table, BUDGET, schema=schema)
    assert model.like == "pandas"
    assert list(model.sample(5).columns) == ["sex", "age", "name"]


def test_a_file_that_changed_is_no_retry(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    path = tmp_path / "a.csv"
    people(100).to_csv(path, index=False)
    asked = {"schema": SCHEMA, "ledger": ledger}
    first = fit(SIMPLE, path, BUDGET, **asked)
    path.touch()
    again = fit(SIMPLE, path, BUDGET, **asked)
    assert all((a.values == b.values).all() for a, b in zip(first.measurements, again.measurements, strict=True))
    people(900).to_csv(path, index=False)
    with pytest.raises(UsageError, match="has changed since release"):
        fit(SIMPLE, path, BUDGET, **asked)
    ledger.set_cap(Cap(str(path.resolve()), "default", Budget(3.0, 1e-9)))
    assert fit(SIMPLE, path, BUDGET, key="november", **asked).rows > 700


@pytest.mark.parametrize("method", ["kage", "mst"])
def test_pairs_of_equal_size_that_cannot_be_counted_together_do_not_all_come_back(method: str) -> None:
    domain = Schema(
        [Category(f"c{i}", categories=tuple(range(5000)), out_of_domain="missing", missing=True) for i in range(8)]
    ).domain
    pairs = countable(domain, list(combinations(domain.names, 2)))
    assert 0 < sum(map(domain.cells, pairs)) <= COUNTED_CELLS
    assert len(pairs) == 5  # of 28
    create(method).plan(domain, BUDGET)


def test_a_column_too_wide_for_any_model_is_refused_before_it_is_paid() -> None:
    wide = Domain(("a", "b"), (2**24, 2))
    with pytest.raises(ModelTooLarge, match="the columns alone need"):
        SIMPLE.plan(wide, BUDGET)


@pytest.mark.parametrize("method", ["stat", "bayes-net"])
def test_a_baseline_without_protection_stands_in_the_ledger_as_what_it_is(tmp_path: Path, method: str) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    asked = {"schema": SCHEMA, "ledger": ledger, "dataset": "d"}
    assert math.isinf(fit(create(method), people(), BUDGET, **asked).certificate.epsilon)
    (record,) = ledger.releases()
    assert math.isinf(record.epsilon)
    assert ledger.caps() == [], "no cap could hold it, so it makes none"


def test_a_policy_of_another_name_does_not_pass_the_cap(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "l.db")
    asked = {"schema": SCHEMA, "ledger": ledger, "dataset": "d"}
    fit(SIMPLE, people(), BUDGET, **asked)
    with pytest.raises(CapReached, match="no policy 'defualt'; it has 'default'"):
        fit(SIMPLE, people(), BUDGET, policy="defualt", **asked)
    ledger.set_cap(Cap("d", "research", BUDGET))
    fit(SIMPLE, people(), BUDGET, policy="research", **asked)


@pytest.mark.parametrize("stranger", ["patients.csv", "kagemusha-ledger.db", "notes"])
def test_a_release_replaces_releases_only(tmp_path: Path, stranger: str) -> None:
    model = fit(SIMPLE, people(), BUDGET, schema=SCHEMA)
    folder = tmp_path / "doubles"
    write_bundle(model, folder)
    with pytest.raises(UsageError, match="already exists"):
        write_bundle(model, folder)
    write_bundle(model, folder, replace=True, rows=3)
    (folder / stranger).write_text("mine")
    with pytest.raises(UsageError, match=f"holds '{stranger}'"):
        write_bundle(model, folder, replace=True)
    assert (folder / stranger).read_text() == "mine"
    lone = tmp_path / "other"
    lone.mkdir()
    (lone / "synthetic.csv").write_text("a table, but no release")
    with pytest.raises(UsageError, match="is not a release"):
        write_bundle(model, lone, replace=True)


@pytest.mark.parametrize("method", ["kage", "aim", "aim-gdp", "mst", "privbayes", "independent", "stat", "gaussian"])
def test_progress_goes_forward_through_the_fit_and_through_what_follows(tmp_path: Path, method: str) -> None:
    told: list[float] = []
    schema = Schema([Real("x", lower=0, upper=1), Real("y", lower=0, upper=1)]) if method == "gaussian" else SCHEMA
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((200, 2)), columns=["x", "y"]) if method == "gaussian" else people()
    model = fit(create(method), table, BUDGET, schema=schema, progress=lambda _, done: told.append(done))
    assert told
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
    told.clear()
    write_bundle(model, tmp_path / "out", progress=part(lambda _, done: told.append(done), 0.5, 1.0))
    assert told == sorted(told)
    assert 0.5 <= told[0] < told[-1] < 1
