"""The publishable intervals: told from the model alone, and they hold the true error."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kagemusha.certificate.verify import all_passed, verify
from kagemusha.evaluation.kway import l1_errors
from kagemusha.folder.folder import write_bundle
from kagemusha.marginals import nearest_counts
from kagemusha.models import Model, load_model
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.quality.expected_error import VERDICTS, ErrorInterval, expected_error, measured_interval
from kagemusha.quality.projectable import CodedTable
from kagemusha.quality.released import NoisyTable
from kagemusha.quality.statement import quality_files
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources import FileSource, FrameSource, rawfile
from kagemusha.synthesizers import create, fit


def mixture(seed: int, rows: int = 4000) -> tuple[Schema, CodedTable]:
    """Columns that depend on each other through hidden groups."""
    rng = np.random.default_rng(seed)
    sizes = (2, 4, 7, 12, 3)
    group = rng.integers(0, 4, rows)
    codes = np.stack([_column(rng, size)[group, rng.integers(0, 64, rows)] for size in sizes], axis=1)
    columns = [Category(f"c{i}", categories=tuple(range(size)), out_of_domain="clip") for i, size in enumerate(sizes)]
    columns[3] = Integer("c3", lower=0, upper=11)  # type: ignore[call-overload]
    schema = Schema(columns)
    return schema, CodedTable.of_codes(schema, codes)


def _column(rng: np.random.Generator, size: int) -> np.ndarray:  # type: ignore[type-arg]
    shares = rng.dirichlet(np.full(size, 0.5), size=4)
    return np.stack([rng.choice(size, 64, p=p) for p in shares])


def frame(table: CodedTable):  # type: ignore[no-untyped-def]
    import pandas as pd

    return pd.DataFrame({name: table.column(name).astype(int) for name in table.domain})


def covered(methods: list[str], epsilons: list[float], seeds: range) -> list[bool]:
    found: list[bool] = []
    for method, epsilon, seed in product(methods, epsilons, seeds):
        schema, table = mixture(seed)
        model = fit(create(method), frame(table), Budget(epsilon, 1e-9), schema=schema, simulation=seed)
        expected = expected_error(model)
        doubles = CodedTable.of_codes(schema, model.sample_codes(rng=np.random.default_rng(seed)))
        intervals = [*expected.columns, *expected.pairs]
        errors = l1_errors(table, doubles, [i.clique for i in intervals])
        found += [i.low <= e <= i.high for i, e in zip(intervals, errors, strict=True)]
    return found


def test_intervals_hold_the_true_error() -> None:
    found = covered(["kage", "aim", "mst", "independent"], [0.3, 3.0], range(2))
    assert len(found) == 240
    assert np.mean(found) >= 0.9


@pytest.mark.slow
def test_intervals_hold_in_nine_of_ten_of_a_thousand_cases() -> None:
    found = covered(["kage", "aim", "aim-gdp", "mst", "privbayes", "independent"], [0.1, 1.0, 10.0], range(10, 14))
    assert len(found) >= 1000
    assert np.mean(found) >= 0.9


@pytest.fixture(scope="module")
def model() -> Model:
    schema, table = mixture(1)
    budget = Budget(2.0, 1e-9, Adjacency.REPLACE)
    return fit(create("kage"), frame(table), budget, schema=schema, simulation=3)


def test_nothing_but_the_model_is_asked(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that was only read from its file, with every reader of tables out of order, says the same."""
    said = quality_files(model)
    model.save(tmp_path / "model.kage")
    read: list[object] = []
    for reader in (FrameSource, FileSource):
        for verb in ("__init__", "count", "rows", "records"):
            monkeypatch.setattr(reader, verb, lambda *arguments, **_: read.append(arguments))
    monkeypatch.setattr(rawfile, "connect", lambda *arguments: read.append(arguments))
    assert quality_files(load_model(tmp_path / "model.kage")) == said
    assert not read


def test_intervals_are_informative(model: Model) -> None:
    expected = expected_error(model)
    assert np.median([pair.high for pair in expected.pairs]) < 0.3
    assert any(pair.low > 0 for pair in expected.pairs)
    assert all(0 <= i.low <= i.high <= 2 for i in (*expected.columns, *expected.pairs))
    assert sum(expected.counted().values()) == 10
    fewer = expected_error(model, rows=40)
    assert fewer.of(("c0", "c1")).high > expected.of(("c0", "c1")).high


def test_verdicts_follow_the_upper_end() -> None:
    shown = [ErrorInterval(("a", "b"), 0.0, high, "counts").verdict for high in (0.1, 0.3, 0.31)]
    assert shown == list(VERDICTS)


def test_independent_columns_are_not_recommended_in_pairs() -> None:
    schema, table = mixture(2)
    model = fit(create("independent"), frame(table), Budget(10.0, 1e-9), schema=schema, simulation=1)
    expected = expected_error(model)
    assert max(column.high for column in expected.columns) < 0.05
    assert all(pair.known_from == "columns" for pair in expected.pairs)
    assert expected.counted()["use"] == 0


def test_the_statement_is_part_of_the_certified_release(model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    certificate = write_bundle(model, folder, extra=quality_files(model))
    assert {"quality.json", "quality.html"} <= set(certificate.outputs or {})
    assert all_passed(verify(folder / "certificate.json"))
    statement = json.loads((folder / "quality.json").read_text())
    assert {pair["verdict"] for pair in statement["pairs"]} <= set(VERDICTS)
    page = (folder / "quality.html").read_text()
    assert "INTERNAL" not in page
    assert "http" not in page.replace("http-equiv", "")
    (folder / "quality.json").write_text("{}")
    assert not all_passed(verify(folder / "certificate.json"))


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_columns_of_many_rare_codes_are_not_believed_to_be_empty(power: float) -> None:
    """What a model puts at zero, for the noise was below it, is not empty: 40 codes, most rarer than the noise."""
    rng = np.random.default_rng(5)
    shares = np.arange(1.0, 41) ** -power
    held = []
    for _ in range(100):
        counts = rng.multinomial(3000, shares / shares.sum()).astype(float)
        noisy = NoisyTable(counts + rng.normal(0, 25, 40), 25.0)
        table = nearest_counts(noisy.values, 3000.0)
        interval = measured_interval(("a",), table, noisy, 3000.0, rng=rng, draws=100)
        held.append(interval.low <= np.abs(table - counts).sum() / 3000 <= interval.high)
    assert np.mean(held) >= 0.9
