"""Rows and nothing but rows: what is kept, what can be asked, and that two worlds cannot be distinguished."""

from __future__ import annotations

import json
import math
import sqlite3
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from kagemusha.attacks.audit import Audit, audit
from kagemusha.certificate.verify import all_passed, verify
from kagemusha.errors import UsageError
from kagemusha.forensics.paid import paid_check
from kagemusha.generators.rows import RowsGenerator
from kagemusha.models.model import load_model
from kagemusha.privacy.accountants import PLD
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.generation.rows import RowsCost
from kagemusha.schema import Integer, Schema
from kagemusha.synthesizers import gaussian_rows
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.gaussian_rows import GaussianRows

SCHEMA = Schema([Integer("a", lower=0, upper=20), Integer("b", lower=0, upper=20)])
METHOD = GaussianRows(rows=60, at_least=2000, floor=0.05)
BUDGET = Budget(2.0, 1e-6)


def table(rows: int = 2500):  # type: ignore[no-untyped-def]
    import pyarrow as pa

    rng = np.random.default_rng(0)
    a = np.clip(np.rint(rng.normal(10, 4, rows)), 0, 20).astype(int)
    return pa.table({"a": a, "b": np.clip(a + rng.integers(-3, 4, rows), 0, 20)})


def test_only_rows_are_kept_and_a_retry_returns_them(tmp_path: Path) -> None:
    book = tmp_path / "ledger.db"
    model = fit(METHOD, table(), BUDGET, schema=SCHEMA, ledger=book, dataset="t")
    again = fit(METHOD, table(), BUDGET, schema=SCHEMA, ledger=book, dataset="t")
    assert isinstance(model.generator, RowsGenerator)
    np.testing.assert_array_equal(model.generator.codes, again.generator.codes)  # type: ignore[attr-defined]
    model.save(tmp_path / "model.kage")
    assert load_model(tmp_path / "model.kage").generator.codes.shape == (60, 2)  # type: ignore[attr-defined]
    with zipfile.ZipFile(tmp_path / "model.kage") as archive:
        assert sorted(archive.namelist()) == ["arrays/codes.npy", "model.json"]
        told = json.loads(archive.read("model.json"))
    assert set(told["generator"]["meta"]) == {"total", "domain"}
    with sqlite3.connect(book) as ledger:
        answers = [bytes(row[0]) for row in ledger.execute("SELECT answer FROM steps")]
    assert answers == [model.generator.codes.astype("<i8").tobytes()], "the ledger holds the released rows alone"
    assert math.isfinite(model.certificate.epsilon)
    assert any("Theorem D" in sentence and "60" in sentence for sentence in model.certificate.assumptions)


def test_no_more_rows_than_were_paid_for() -> None:
    model = fit(METHOD, table(), BUDGET, schema=SCHEMA)
    assert model.most_rows == model.rows == len(model.sample()) == 60
    with pytest.raises(UsageError, match="at most 60, got 61"):
        model.sample(61)
    few = model.sample_codes(7, rng=np.random.default_rng(0), where={("a",): (np.arange(21) > 8).astype(float)})
    assert (few[:, 0] > 8).all()
    with pytest.raises(UsageError, match="released rows fulfil"):
        model.sample(60, where="a > 19")
    everything = model.sample_codes(60, rng=np.random.default_rng(1))
    assert sorted(map(tuple, everything)) == sorted(map(tuple, model.generator.codes))  # type: ignore[attr-defined]


def test_rows_that_nobody_paid_for_are_found() -> None:
    model = fit(METHOD, table(), BUDGET, schema=SCHEMA)
    assert paid_check(model, model.certificate).passed
    codes = model.generator.codes  # type: ignore[attr-defined]
    more = replace(model, generator=RowsGenerator(model.domain, np.concatenate([codes, codes[:1]])))
    assert not paid_check(more, model.certificate).passed


def test_a_certificate_that_claims_other_columns_is_found(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    certificate = fit(METHOD, table(), BUDGET, schema=SCHEMA).certificate
    path.write_text(certificate.to_json())
    assert all_passed(verify(path))
    (event,) = certificate.events
    path.write_text(replace(certificate, events=[replace(event, apart=4, box=4)]).to_json())
    assert any(check.what == "sensitivities" and not check.passed for check in verify(path))
    path.write_text(replace(certificate, assumptions=certificate.assumptions[:-2]).to_json())
    assert any(check.what == "assumptions" and not check.passed for check in verify(path))


def test_noise_only_where_the_draws_are_not_enough() -> None:
    larger = replace(METHOD, at_least=20_000)
    events = [replace(larger, rows=m).event(SCHEMA, Budget(1.0, 1e-6)) for m in (1, 10, 100, 1000)]
    assert events[0].noise == 0
    assert [e.noise for e in events] == sorted(e.noise for e in events)
    for event in events:
        assert PLD().epsilon([event], 1e-6) <= 1
        if event.noise:
            assert PLD().epsilon([replace(event, noise=0.99 * event.noise)], 1e-6) > 1, "and no more than needed"
    strict = METHOD.event(SCHEMA, Budget(0.05, 1e-6)).noise
    assert strict > METHOD.event(SCHEMA, Budget(1.0, 1e-6)).noise
    assert METHOD.event(SCHEMA, Budget(1.0, 1e-6, rows=2)).noise > METHOD.event(SCHEMA, Budget(1.0, 1e-6)).noise


def test_what_cannot_be_promised_is_refused_in_words() -> None:
    for option, match in (
        ({"rows": 0}, "rows must"),
        ({"at_least": 0}, "at_least must"),
        ({"floor": 0.0}, "floor must"),
    ):
        with pytest.raises(UsageError, match=match):
            GaussianRows(**option)
    with pytest.raises(UsageError, match="delta must be at least"):
        fit(replace(METHOD, rows=10**6), table(), Budget(1.0, 1e-9), schema=SCHEMA)
    with pytest.raises(UsageError, match="delta must be at least"):
        fit(METHOD, table(), Budget(1.0, 0.0), schema=SCHEMA)


@pytest.fixture
def fresh() -> Iterator[None]:
    gaussian_rows._least_noise.cache_clear()
    yield
    gaussian_rows._least_noise.cache_clear()


AUDITED = GaussianRows(rows=100, at_least=1500, floor=0.06)


def told_apart(found: Audit, runs: int) -> bool:
    mean = found.mean_loss[1] - found.mean_loss[0]
    return mean > found.promised_mu**2 + 6 * found.promised_mu / math.sqrt(runs / 2)


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize(("epsilon", "rows"), [(3.5, 1), (1.0, 2)], ids=["draws alone", "noise too"])
def test_two_worlds_are_not_told_apart(relation: Adjacency, epsilon: float, rows: int) -> None:
    found = audit(lambda: AUDITED, Budget(epsilon, 1e-2, relation, rows), runs=100)
    assert not found.verdict.startswith("BROKEN")
    assert found.mean_loss[1] > found.mean_loss[0] + 0.05, "the audit sees the person"
    if rows == 1:  # without noise the score is the loss itself
        assert not told_apart(found, 100)


def test_a_bound_that_forgets_most_of_a_person_is_found_out(fresh: None) -> None:
    true = RowsCost.covariance_step.fget  # type: ignore[attr-defined]
    with patch.object(RowsCost, "covariance_step", property(lambda self: true(self) / 5)):
        assert AUDITED.event(SCHEMA, Budget(0.6, 1e-2)).noise == 0
        assert told_apart(audit(lambda: AUDITED, Budget(0.6, 1e-2), runs=100), 100)
