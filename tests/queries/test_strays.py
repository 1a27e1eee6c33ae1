"""Cells that are out of place: counted for a small price, for any source, and said where people look."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from command import Run
from kagemusha.privacy.budget import Adjacency, Budget, PrivacyUnit
from kagemusha.privacy.query_kinds import impossible
from kagemusha.queries.query import Strays
from kagemusha.schema import Unit, of_strays, stray_columns
from kagemusha.sources import open_source
from kagemusha.synthesizers.fit import STRAYS

SCHEMA = kg.Schema(
    [
        kg.Integer("age", lower=0, upper=100, bins=10),
        kg.Integer("stay", lower=0, upper=9, special=(99,)),
        kg.Category("ward", categories=["a", "b"]),
        kg.Category("kind", categories=["x", "y"], out_of_domain="clip"),
        kg.Category("shown", categories=["p"], other="elsewhere"),
        kg.Boolean("smoker"),
        kg.Real("bmi", lower=10, upper=60, bins=8, missing=True),
        kg.Date("day", lower="2024-01-01", upper="2024-12-31", bins=12),
    ]
)
ROWS = [
    ("30", "3", "a", "x", "p", "yes", "20.5", "2024-05-01", ""),
    ("old", "99", "b", "z", "q", "no", "", "2024-05-01", "age kind"),
    ("101", "12", "Q", "x", "p", "perhaps", "old", "2023-12-31", "age stay ward smoker day"),
    ("", "", "", "", "", "", "", "", "age stay ward kind shown smoker day"),
    ("1e1", "3.0", "a", "y", "p", "0", "99", "no day", "day"),
]


def table(copies: int = 1) -> pd.DataFrame:
    return pd.DataFrame([row[:-1] for row in ROWS] * copies, columns=SCHEMA.names)


def wanted() -> dict[str, int]:
    return {name: sum(name in row[-1].split() for row in ROWS) for name in stray_columns(SCHEMA)}


def counted(where: object, schema: kg.Schema) -> dict[str, int]:
    source = open_source(where, of_strays(schema))
    query = Strays(source.domain)
    return dict(zip(source.domain.names, query.values(source.count(query.cliques())).tolist(), strict=True))


def test_each_column_counts_what_it_cannot_show(tmp_path: Path) -> None:
    assert stray_columns(SCHEMA) == tuple(n for n in SCHEMA.names if n != "bmi"), (
        "where gaps are declared, a blank is one"
    )
    assert counted(table(), SCHEMA) == wanted()
    table().to_csv(tmp_path / "t.csv", index=False)
    assert counted(tmp_path / "t.csv", SCHEMA) == wanted()
    table().to_parquet(tmp_path / "t.parquet")
    assert counted(tmp_path / "t.parquet", SCHEMA) == wanted()


def test_a_person_moves_each_count_by_at_most_their_rows(tmp_path: Path) -> None:
    """Every neighbour of a small table, against what the ledger was charged for."""
    persons = SCHEMA.with_columns(kg.Drop("who")).with_unit(Unit("who", 2))
    whose = ["p", "p", "p", "q", "r"]
    frame = table().assign(who=whose)
    unit = PrivacyUnit(Adjacency.ADD_REMOVE, 2)
    query = Strays(of_strays(persons).domain)
    most = unit.sensitivity(query.sensitivity)
    full = np.array([*counted(frame, persons).values()])
    moved = []
    for who in "pqr":
        less = np.array([*counted(frame[frame["who"] != who], persons).values()])
        assert (np.abs(full - less) <= 2).all()
        moved.append(int(((full - less) ** 2).sum()))
    assert max(moved) <= most.l2_squared == 4 * len(full)
    single = unit_of_rows().sensitivity(query.sensitivity)
    for one, other in product(ROWS, ROWS):  # exchanged: every count by one at most
        step = np.array([(n in one[-1].split()) - (n in other[-1].split()) for n in stray_columns(SCHEMA)])
        assert int((step**2).sum()) <= single.l2_squared


def unit_of_rows() -> PrivacyUnit:
    return PrivacyUnit(Adjacency.REPLACE, 1)


def test_the_certificate_cannot_state_another_number_of_columns() -> None:
    assert impossible("strays", {"entries": 7}, SCHEMA) == ""
    assert impossible("strays", {"entries": 1}, SCHEMA) != ""


@pytest.mark.parametrize("method", ["kage", "aim", "independent"])
def test_a_release_pays_a_hundredth_for_it_and_says_what_it_found(method: str, tmp_path: Path) -> None:
    frame = table(2_000)
    model = kg.fit(method, frame, Budget(1.0, 1e-9), schema=SCHEMA)
    first, *others = model.certificate.events
    assert first.query is not None
    assert first.query.kind == "strays"
    assert others
    share = first.about_rho / sum(event.about_rho for event in model.certificate.events)
    assert share == pytest.approx(STRAYS, rel=0.2)
    found, noise = model.certificate.parameters["strays"], model.certificate.parameters["strays_noise"]
    assert set(found) == set(stray_columns(SCHEMA))
    for name, count in found.items():
        assert abs(count - 2_000 * wanted()[name]) < 6 * noise
    kg.publish(model, tmp_path / "release")
    assert "cannot be read" in (tmp_path / "release" / "quality.html").read_text()
    assert all(check.passed for check in kg.verify(tmp_path / "release"))


def test_noise_alone_says_nothing() -> None:
    clean = pd.DataFrame([ROWS[0][:-1]] * 2000, columns=SCHEMA.names)
    assert kg.fit("independent", clean, 1.0, schema=SCHEMA).certificate.parameters["strays"] == {}


def test_the_command_line_says_it_last(run: Run, tmp_path: Path) -> None:
    table(600).to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.save(tmp_path / "t.toml")
    words = ["synth", "t.csv", "--schema", "t.toml", "--method", "independent"]
    done = run(*words, "--out", "one")
    assert "age:" in done.stdout + done.stderr
    assert "cells are blank, cannot be read, lie outside the bounds or are not listed" in done.stdout + done.stderr
    told = json.loads(
        run(*words, "--out", "two", "--key", "b", "--epsilon", "0.5", "--cap", "3", "--json", code=None).stdout or "{}"
    )
    assert told == {} or told["cells out of place"] is not None
