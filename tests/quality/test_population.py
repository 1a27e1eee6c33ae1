"""Population totals on the publishable page: their intervals hold, and the certificate says what is protected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from kagemusha import fit, publish
from kagemusha.certificate.verify import all_passed, verify
from kagemusha.models import Model
from kagemusha.privacy.budget import Budget
from kagemusha.quality.expected_error import expected_error
from kagemusha.quality.group import drawn_group
from kagemusha.quality.population import population_totals
from kagemusha.quality.statement import page, quality_files
from kagemusha.schema import Category, Integer, Real, Schema

SCHEMA = Schema(
    [
        Category("region", categories=("north", "south", "east", "west")),
        Category("sex", categories=("F", "M")),
        Integer("age", lower=0, upper=99, bins=5),
        Real("w", lower=0.0, upper=40.0, bins=8),
    ],
    weight="w",
)


def survey(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east", "west"], rows, p=[0.4, 0.3, 0.2, 0.1])
    weight = np.where(region == "west", rng.uniform(10, 40, rows), rng.gamma(2, 3, rows)).clip(0, 40)
    ages = rng.integers(0, 100, rows)
    return pa.table({"region": region, "sex": rng.choice(["F", "M"], rows), "age": ages, "w": weight})


def coded_totals(table: pa.Table) -> dict[str, float]:
    weights = np.minimum(table["w"].to_numpy() // 5, 7) * 5 + 2.5
    labels = table["region"].to_numpy(zero_copy_only=False)
    found = {str(label): float(weights[labels == label].sum()) for label in np.unique(labels)}
    return found | {"everybody": float(weights.sum())}


def fitted(method: str, epsilon: float, seed: int) -> tuple[pa.Table, Model]:
    table = survey(5000, seed)
    return table, fit(method, table, Budget(epsilon, 1e-9), schema=SCHEMA, simulation=seed)


def test_intervals_hold_what_the_real_weights_say() -> None:
    held, width = [], []
    for method, epsilon, seed in (("kage", 0.3, 0), ("kage", 2.0, 1), ("mst", 1.0, 2), ("independent", 1.0, 3)):
        table, model = fitted(method, epsilon, seed)
        truth = coded_totals(table)
        for total in population_totals(model, expected_error(model)):
            if total.column in ("", "region") and total.label in truth:
                held.append(total.low <= truth[total.label] <= total.high)
                if method == "kage" and epsilon > 1:
                    width.append((total.high - total.low) / 2 / truth[total.label])
    assert len(held) >= 20
    assert np.mean(held) >= 0.9
    assert np.median(width) < 0.5, "an interval that holds everything says nothing"


def test_the_page_has_them_only_where_a_weight_is_declared() -> None:
    _, model = fitted("independent", 1.0, 0)
    files = quality_files(model)
    document = json.loads(files["quality.json"])
    totals = document["population"]["totals"]
    assert totals[0]["label"] == "everybody"
    assert {t["label"] for t in totals if t["column"] == "region"} >= {"north", "south", "east", "west"}
    assert all(t["low"] <= t["people"] <= t["high"] for t in totals)
    assert "Population totals" in files["quality.html"].decode()
    without = replace(model, schema=model.schema.with_weight(None))
    assert "population" not in json.loads(quality_files(without)["quality.json"])
    assert "Population totals" not in page(without, expected_error(without))


def test_a_group_tells_whom_it_stands_for() -> None:
    table, model = fitted("kage", 5.0, 4)
    group = drawn_group(model, "region = 'west'")
    assert group.population is not None
    assert abs(group.population - coded_totals(table)["west"]) < 0.2 * coded_totals(table)["west"]
    assert group.words.endswith("people of the population"), "the error comes before: it is that of the records"
    heavy = drawn_group(model, "region = 'west' and w > 20").population
    assert heavy is not None
    assert 0 < heavy < group.population


def test_the_certificate_says_what_is_protected_and_verify_looks(tmp_path: Path) -> None:
    model = fit("independent", survey(300, 5), 1.0, schema=SCHEMA)
    told = [s for s in model.certificate.assumptions if s.startswith("Survey weights:")]
    assert len(told) == 1
    for words in ("at most 40", "the people in the table, the sample", "were not asked", "drawn at random", "raking"):
        assert words in told[0]
    publish(model, tmp_path / "out")
    checks = verify(tmp_path / "out" / "certificate.json")
    assert all_passed(checks)
    assert any(check.what == "survey weights" for check in checks)
    silent = [s for s in model.certificate.assumptions if not s.startswith("Survey weights:")]
    publish(replace(model, certificate=replace(model.certificate, assumptions=silent)), tmp_path / "silent")
    failed = [check.what for check in verify(tmp_path / "silent" / "certificate.json") if not check.passed]
    assert failed == ["survey weights"]
