"""CTGAN: rows as networks see them, wishes, training, and that nobody takes it for private."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from kagemusha.errors import ModelTooLarge, UsageError
from kagemusha.generators.gan import GanGenerator
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Integer, Schema
from kagemusha.sources import open_source
from kagemusha.synthesizers.contract import example_schema, example_table
from kagemusha.synthesizers.encoded_rows import EncodedRows
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

torch = pytest.importorskip("torch")

TINY = {"epochs": 3, "batch": 60, "pack": 2, "hidden": 16, "noise": 8}


@pytest.fixture
def rows() -> EncodedRows:
    source = open_source(example_table(), example_schema())
    return EncodedRows.of(source.schema, source.records()[0], np.random.default_rng(0))


def test_rows_fulfil_their_wishes(rows: EncodedRows) -> None:
    rng = np.random.default_rng(1)
    block, code = rows.conditions(500, rng)
    batch = rows.batch(block, code, rng)
    for vector, b, c in zip(batch, block, code, strict=True):
        occurs = rows.counts[[i for i, x in enumerate(rows.blocks) if x.wish >= 0].index(b)][c] > 0
        assert vector[rows.blocks[b].first + c] == 1 or not occurs
    assert (batch.sum(axis=1) >= 0).all()
    for one in rows.blocks:
        assert (batch[:, one.first : one.end].sum(axis=1) == 1).all()


def test_every_row_is_written_and_read_back(rows: EncodedRows) -> None:
    """Encoded and decoded, labels are the same and numbers fall into the same or a neighbouring bin."""
    source = open_source(example_table(), example_schema())
    columns = source.records()[0]
    vectors = rows.encoded(np.arange(400))
    for written, block, codes in zip(rows.modes, rows.blocks, columns, strict=True):
        chosen = vectors[:, block.first : block.end].argmax(axis=1)
        back = written.codes(vectors[:, block.start].astype(float), chosen)
        far = np.abs(back - codes.astype(int))
        assert (far == 0).mean() > 0.99 if written.labelled else (far <= 1).all()
        gone = codes == written.size - 1
        assert not written.marks or (back[gone] == written.size - 1).all()


def test_rare_codes_are_wished_for_by_the_logarithm_of_their_count() -> None:
    schema = Schema([Category("a", categories=("x", "y", "z"), out_of_domain="clip")])
    source = open_source(pa.table({"a": ["x"] * 900 + ["y"] * 100}), schema)
    rows = EncodedRows.of(schema, source.records()[0], np.random.default_rng(0))
    _, code = rows.conditions(40_000, np.random.default_rng(1))
    shares = np.bincount(code, minlength=3) / 40_000
    wanted = np.log1p([900, 100, 0])
    assert shares == pytest.approx(wanted / wanted.sum(), abs=0.01)


def test_folded_weights_are_the_network(rows: EncodedRows) -> None:
    """What samples without torch says the same as the network that was trained."""
    from kagemusha.neural.gan import Game, Training

    game = Game(rows.blocks, Training(1, 1, 60, noise=8, hidden=(16, 12, 7), pack=2), np.random.default_rng(3))
    for _ in range(4):
        game.step(rows)
    rng = np.random.default_rng(4)
    noise, wish = rng.standard_normal((50, 8)), rng.integers(len(rows.frequencies), size=50)
    state = np.hstack([noise, np.eye(len(rows.frequencies))[wish]])
    game.generator.eval()
    with torch.no_grad():
        told = game.generator(torch.from_numpy(noise.astype(np.float32)), torch.from_numpy(wish)).numpy()
    for matrix, shift in game.generator.weights()[:-1]:
        state = np.hstack([np.maximum(state @ matrix + shift, 0), state])
    matrix, shift = game.generator.weights()[-1]
    assert state @ matrix + shift == pytest.approx(told, abs=1e-4)


def test_it_learns_what_belongs_together() -> None:
    """Wards a, b and c follow from the sex; a network that was hardly trained does not know."""
    schema, table = example_schema(), example_table(1500)
    choices = {"batch": 100, "pack": 1, "hidden": 64, "noise": 16}

    def right(epochs: int) -> float:
        model = fit(create("ctgan", epochs=epochs, **choices), table, Budget(1.0, 1e-6), schema=schema, simulation=2)
        joint = model.project(("sex", "ward"))
        return float((joint[0, 0] + joint[1, 1] + joint[1, 2]) / joint[:2, :3].sum())

    assert right(70) > right(1) + 0.2


def test_a_table_of_numbers_alone_has_no_wishes() -> None:
    schema = Schema([Integer(name, lower=0, upper=9) for name in "xy"])
    table = pa.table({"x": list(range(10)) * 10, "y": list(range(10)) * 10})
    model = fit(create("ctgan", **TINY), table, Budget(1.0, 1e-6), schema=schema, simulation=1)
    assert model.sample_codes(20, rng=np.random.default_rng(0)).shape == (20, 2)


def test_its_certificate_says_that_nobody_is_protected() -> None:
    model = fit(create("ctgan", **TINY), example_table(100), Budget(1.0, 1e-6), schema=example_schema())
    assert math.isinf(model.certificate.epsilon)
    assert "without noise" in str(model.certificate.events)


def test_a_simulation_repeats_and_another_seed_does_not() -> None:
    def doubles(seed: int) -> np.ndarray:
        model = fit(
            create("ctgan", **TINY), example_table(100), Budget(1.0, 1e-6), schema=example_schema(), simulation=seed
        )
        return model.sample_codes(50, rng=np.random.default_rng(0))

    assert (doubles(1) == doubles(1)).all()
    assert (doubles(1) != doubles(2)).any()


@pytest.mark.parametrize(("option", "value"), [("epochs", 0), ("batch", 0), ("pack", 7), ("hidden", -1), ("noise", 0)])
def test_impossible_choices_are_named(option: str, value: int) -> None:
    with pytest.raises(UsageError, match="pack" if option == "pack" else option):
        create("ctgan", **{option: value})


def test_too_many_labels_are_refused_before_anything_is_read() -> None:
    wide = Schema([Category("code", categories=tuple(map(str, range(20_000)))), Integer("n", lower=0, upper=9)])
    with pytest.raises(ModelTooLarge, match="'code' with 20,001"):
        fit(create("ctgan"), pa.table({"code": ["1"], "n": [1]}), Budget(1.0, 1e-6), schema=wide, simulation=1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda meta, arrays: arrays.update({"matrix.0": arrays["matrix.0"][:-1]}),
        lambda meta, arrays: arrays.update({"matrix.0": arrays["matrix.0"] * np.inf}),
        lambda meta, arrays: arrays.update({"wishes": arrays["wishes"] * 2}),
        lambda meta, arrays: arrays.update({"values.1": arrays["values.1"][::-1]}),
        lambda meta, arrays: arrays.update({"means.1": arrays["means.1"][None]}),
        lambda meta, arrays: meta.update(noise=0),
        lambda meta, arrays: meta["columns"].pop(),
    ],
)
def test_damaged_parts_are_refused(damage) -> None:  # type: ignore[no-untyped-def]
    model = fit(create("ctgan", **TINY), example_table(60), Budget(1.0, 1e-6), schema=example_schema(), simulation=1)
    meta, arrays = model.generator.to_arrays()
    whole = dict(arrays)
    assert GanGenerator.from_arrays(meta, whole).domain == model.domain
    damage(meta, whole)
    with np.errstate(invalid="ignore"), pytest.raises((ValueError, KeyError, IndexError)):
        GanGenerator.from_arrays(meta, whole)


def test_the_generator_learns_from_other_rows_than_the_critic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 1: after the critic's step, wishes and rows are made anew."""
    from kagemusha.neural import gan

    asked: list[int] = []
    said = gan.Game._said
    monkeypatch.setattr(
        gan.Game, "_said", lambda self, at: (asked.append(hash(at.numpy().tobytes())), said(self, at))[1]
    )
    fit(
        create("ctgan", **{**TINY, "epochs": 1}),
        example_table(100),
        Budget(1.0, 1e-6),
        schema=example_schema(),
        simulation=0,
    )
    assert len(asked) >= 2
    assert len(set(asked)) == len(asked)
