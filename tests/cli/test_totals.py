"""`totals` and `schema check --data`: questions to a private table, paid for first, and told in words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

SCHEMA = """version = 1
[weight]
column = "w"
[columns.region]
kind = "category"
categories = ["north", "south"]
out_of_domain = "clip"
[columns.age]
kind = "integer"
lower = 0
upper = 99
bins = 5
[columns.pension]
kind = "boolean"
[columns.w]
kind = "integer"
lower = 0
upper = 100
[[constraint]]
rule = "pension = true implies age >= 60"
[[constraint]]
rule = "never region = 'south' and age > 90"
"""
PAID = ("--epsilon", 2, "--cap", 20)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["region,age,pension,w"]
    for i in range(4000):
        age = int(rng.integers(0, 100))
        pension = age >= 60 if i % 4 else True  # some are wrong
        lines.append(f"{rng.choice(['north', 'south'])},{age},{str(pension).lower()},{rng.integers(1, 100)}")
    (tmp_path / "survey.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "survey.toml").write_text(SCHEMA)
    return tmp_path / "survey.csv"


def exact(path: Path) -> dict[str, int]:
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    found = {region: sum(int(r[3]) for r in rows if r[0] == region) for region in ("north", "south")}
    return found | {
        "rows": len(rows),
        "too young": sum(r[2] == "true" and int(r[1]) < 60 for r in rows),
        "too old": sum(r[0] == "south" and int(r[1]) > 90 for r in rows),
    }


def test_totals_are_paid_for_and_near_the_truth(run, survey: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ("totals", "survey.csv", "--schema", "survey.toml", "--by", "region", *PAID)
    told = run(*asked, "--certificate", "totals.json").stdout
    assert "Paid: ε = 2" in told
    assert "the sample is a sample comes on top" in told
    found = json.loads(run(*asked, "--json").stdout)
    truth, off = exact(survey), found["off by at most, 95 of 100"]
    for total in found["totals"]:
        assert abs(total["people"] - truth[total["region"]]) < 3 * off
        assert f"{total['people']:,.0f}" in told, "the same question again gives the same numbers"
    (release,) = json.loads(run("ledger", "show", "--json").stdout)["releases"]
    assert release["method"] == "question"
    assert found["cap"]["epsilon"] == 20
    certificate = (survey.parent / "totals.json").read_text()
    assert "people of the population" in certificate
    assert "ε = 2" in run("verify", "totals.json").stdout
    assert "already exists" in run(*asked, "--certificate", "totals.json", code=2).stderr


def test_what_cannot_be_asked_costs_nothing(run, survey: Path) -> None:  # type: ignore[no-untyped-def]
    base = ("totals", "survey.csv", "--schema", "survey.toml")
    assert "--cap 3" in run(*base, "--epsilon", 1, code=2).stderr
    assert "'city'" in run(*base, *PAID, "--by", "city", code=2).stderr
    assert "--delta" in run(*base, *PAID, "--delta", 0.1, code=2).stderr
    assert "cap (--cap) must be finite and at least" in run(*base, "--epsilon", 2, "--cap", 1, code=2).stderr
    assert "greater than 0" in run(*base, "--epsilon", 0, "--cap", 1, code=2).stderr
    (survey.parent / "plain.toml").write_text(SCHEMA.replace('[weight]\ncolumn = "w"\n', ""))
    assert "[weight]" in run("totals", "survey.csv", "--schema", "plain.toml", *PAID, code=2).stderr
    assert not (survey.parent / "kagemusha-ledger.db").exists()


def test_rules_are_checked_with_noise_for_a_price(run, survey: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ("schema", "check", "survey.toml", "--data", "survey.csv", *PAID)
    told = run(*asked).stdout
    truth = exact(survey)
    found = json.loads(run(*asked, "--json").stdout)["rules"]
    young, old = found["broken"].values()
    off = found["off by at most, 95 of 100"]
    assert "INTERNAL" not in told
    assert "Paid: ε = 2" in told
    assert abs(found["rows"] - truth["rows"]) < 3 * off
    assert abs(young - truth["too young"]) < 3 * off
    assert abs(old - truth["too old"]) < 3 * off
    assert re.search(rf"about {young:,} \(.* to .*\) of about .* rows, .* %: pension", told), told
    (release,) = json.loads(run("ledger", "show", "--json").stdout)["releases"]
    assert release["epsilon"] == 2
    quiet = run("schema", "check", "survey.toml", "--data", "survey.csv", "--epsilon", 0.001).stdout
    assert "too few to be seen through the noise, at most about" in quiet


def test_an_exact_check_stands_in_the_ledger_that_is_in_use(run, survey: Path) -> None:  # type: ignore[no-untyped-def]
    asked = ("schema", "check", "survey.toml", "--data", "survey.csv")
    truth = exact(survey)
    told = run(*asked).stdout
    assert "INTERNAL" in told
    assert f"{truth['too young']:,} of 4,000 rows break pension = true implies age >= 60" in told
    assert not (survey.parent / "kagemusha-ledger.db").exists(), "where no ledger is in use none is made"
    run(*asked, *PAID)
    refused = run(*asked, code=5).stderr
    assert "allow-unprotected" in refused
    assert "Nothing was read" in refused
    run("ledger", "allow-unprotected", "survey.csv")
    machine = json.loads(run(*asked, "--json").stdout)
    assert machine["rules"]["broken"]["pension = true implies age >= 60"] == truth["too young"]
    assert "INTERNAL" in machine["rules"]
    releases = json.loads(run("ledger", "show", "--json").stdout)["releases"]
    assert sorted(str(r["epsilon"]) for r in releases) == ["2.0", "inf"]


def test_a_check_that_pays_needs_a_table_and_confirmed_columns(run, survey: Path) -> None:  # type: ignore[no-untyped-def]
    assert "--data" in run("schema", "check", "survey.toml", "--epsilon", 1, code=2).stderr
    draft = SCHEMA.replace("bins = 5\n", 'bins = 5\nderived = ["upper"]\n')
    (survey.parent / "draft.toml").write_text(draft)
    refused = run("schema", "check", "draft.toml", "--data", "survey.csv", *PAID, code=5)
    assert "age.upper" in refused.stderr
    assert not (survey.parent / "kagemusha-ledger.db").exists()


def test_check_explains_the_weight(run, survey: Path) -> None:  # type: ignore[no-untyped-def]
    told = " ".join(run("schema", "check", "survey.toml").stdout.split())
    assert "it is the survey weight: a record stands for up to 100 people" in told
