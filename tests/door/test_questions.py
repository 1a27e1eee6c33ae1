"""The questions of the command line, asked in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from kagemusha.certificate.check import Check, Checks
from kagemusha.errors import DataError, SchemaError, UsageError
from kagemusha.ledger import open_ledger
from servers import Postgres

SCHEMA = kg.Schema(
    [kg.Category("sex", categories=("f", "m")), kg.Integer("age", lower=0, upper=99, bins=10), kg.Boolean("ill")],
    target="ill",
)


def people(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, rows)
    return pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "age": age, "ill": rng.random(rows) < age / 100})


def test_a_plan_needs_no_table() -> None:
    found = kg.plan(SCHEMA, 2, rows=5000)
    assert found.method == "kage"
    assert found.why
    assert found.forecast.error is not None
    assert "5,000 rows" in found._repr_html_()
    assert kg.plan(SCHEMA, 1, method="aim").method == "aim"


def test_doubles_are_judged_beside_the_table() -> None:
    model = kg.fit("mst", people(), 5, schema=SCHEMA, simulation=1)
    by_model = kg.evaluate(people(), model, learners=["tree"])
    assert by_model.utilities[0].target == "ill"
    by_table = kg.evaluate(people(), model.sample(seed=0), SCHEMA, learners=["tree"])
    assert by_table.kway[2].mean == by_model.kway[2].mean
    assert "INTERNAL" in by_model._repr_html_()


def test_methods_are_compared(tmp_path: Path) -> None:
    found = kg.compare(people(), SCHEMA, ["independent", "mst"], [1, 10], repeat=1, folder=tmp_path)
    errors = {(one.method, one.epsilon): one.mean for one in found.lines if one.score == "2-way error"}
    assert len(errors) == 4
    assert errors["mst", 10] < errors["mst", 1]
    assert len(list((tmp_path / "cells").iterdir())) == 4
    assert "2-way error, mst" in found._repr_html_()


def test_a_method_is_attacked_and_audited() -> None:
    played = kg.attack(people(60), SCHEMA, "independent", 1, targets=["random"], trainings=8)
    assert played.verdict.words
    assert "independent" in played._repr_html_()
    audited = kg.audit("independent", 1, runs=40)
    assert not audited.contradicted
    assert "ε ≥" in audited._repr_html_()
    with pytest.raises(UsageError, match="protects nobody"):
        kg.audit("ctgan")
    with pytest.raises(UsageError, match="runs must be at least 20"):
        kg.audit("kage", runs=3)


def test_a_schema_is_asked_for_by_the_name_of_what_drafts_one() -> None:
    for ask in (lambda: kg.evaluate(people(), people()), lambda: kg.plan(None)):
        with pytest.raises(SchemaError, match=r"kg\.propose"):
            ask()


def test_a_look_at_a_file_stands_in_its_ledger(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    SCHEMA.save(tmp_path / "people.toml")
    book = tmp_path / "book.db"
    kg.compare(tmp_path / "people.csv", tmp_path / "people.toml", ["independent"], repeat=1, ledger=book)
    ledger = open_ledger(book)
    try:
        assert any("compare" in str(release.method) for release in ledger.releases())
    finally:
        ledger.close()


def test_a_notebook_shows_schemas_and_checks() -> None:
    assert "3 columns" in SCHEMA._repr_html_()
    assert "intact" in Checks([Check("noise", True, "fits")])._repr_html_()
    assert "NOT intact" in Checks([Check("noise", False, "<b>")])._repr_html_()
    assert "<b>noise" not in Checks([Check("<b>noise", False, "x")])._repr_html_()
    assert not Checks().passed


def test_a_table_of_a_server_is_looked_at_in_memory_and_its_ledger_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sa = pytest.importorskip("sqlalchemy")
    people = pd.DataFrame({"age": [i % 80 for i in range(600)], "sex": ["FM"[i % 2] for i in range(600)]})
    server = Postgres()
    try:
        engine = sa.create_engine(server.url.replace("postgresql://", "postgresql+psycopg://"))
        people.to_sql("stays", engine, index=False)
        engine.dispose()
        where, ledger = f"{server.url}#public.stays", tmp_path / "l.db"
        schema = kg.propose(people).confirm()
        model = kg.fit("independent", people, 1, schema=schema, simulation=1)
        found = kg.evaluate(where, model, ledger=ledger)
        assert found.kway[2].errors.tolist() == kg.evaluate(people, model).kway[2].errors.tolist()
        (look,) = open_ledger(ledger).releases()
        assert look.method == "evaluate"
        assert look.dataset.endswith("#public.stays")
        with pytest.raises(UsageError, match="has no folder for its ledger"):
            kg.evaluate(where, model)
        monkeypatch.setattr("kagemusha.proposal.servers.MOST_WHOLE", 500)
        with pytest.raises(DataError, match="more than 500 rows"):
            kg.evaluate(where, model, ledger=ledger)
    finally:
        server.remove()
