"""dp-ctgan: what a person can move, what goes on after a stop, what is learned, and how codes are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kagemusha.certificate.verify import all_passed, verify  # noqa: E402
from kagemusha.door import publish  # noqa: E402
from kagemusha.ledger import SQLiteLedger  # noqa: E402
from kagemusha.marginals import NoisyMarginal  # noqa: E402
from kagemusha.models.model import load_model  # noqa: E402
from kagemusha.neural.private_gan import PrivateGame  # noqa: E402
from kagemusha.privacy.budget import Budget  # noqa: E402
from kagemusha.release import training  # noqa: E402
from kagemusha.release.clipping import CLIP_LATTICE  # noqa: E402
from kagemusha.schema import Integer, Schema  # noqa: E402
from kagemusha.sources import FrameSource, open_source  # noqa: E402
from kagemusha.synthesizers.contract import example_schema, example_table  # noqa: E402
from kagemusha.synthesizers.fit import fit  # noqa: E402
from kagemusha.synthesizers.registry import create  # noqa: E402
from kagemusha.synthesizers.written_codes import WrittenCodes, total_of  # noqa: E402

TINY = {"hidden": 6, "rate": 0.25, "epochs": 2.0, "noise": 3}
BUDGET = Budget(1.0, 1e-6)


def written(rows: int = 400) -> WrittenCodes:
    source = open_source(example_table(rows), example_schema())
    exact = source.count([(name,) for name in source.domain])
    return WrittenCodes.of(source.schema, [NoisyMarginal(m.clique, m.counts, 1.0) for m in exact], float(rows))


def game(codes: WrittenCodes, *, clip: float = 1.0, turns: int = 1) -> PrivateGame:
    return PrivateGame(
        codes.blocks,
        codes.vectors,
        codes.independent,
        codes.start,
        codes.means,
        hidden=6,
        noise=3,
        rate=1e-2,
        clip=clip,
        turns=turns,
    )


def some_codes(rows: int = 50) -> np.ndarray:
    return np.column_stack(open_source(example_table(rows), example_schema()).records()[0]).astype(np.int64)


def test_gradients_of_rows_are_those_of_a_graph() -> None:
    """Factors written out against one backward pass for each row.

    The last shift, which teaches nothing, is left out.
    """
    codes, rows = written(), some_codes(20)
    learner = game(codes)
    found = learner.gradients(rows, np.random.default_rng(0)).dense()
    flat = torch.from_numpy(learner.adam.parameters.copy()).requires_grad_(True)
    assert found.shape == (20, learner.parameters)
    for vector, mine in zip(torch.from_numpy(codes.vectors(rows)), found, strict=True):
        state = vector
        matrices = learner.network.matrices(flat)
        for i, matrix in enumerate(matrices):
            state = matrix[:, :-1] @ state + matrix[:, -1]
            state = torch.nn.functional.leaky_relu(state, 0.2) if i < len(matrices) - 1 else state
        (wanted,) = torch.autograd.grad(-state[0], flat)
        assert mine[:-1] == pytest.approx(wanted.numpy()[:-1], abs=1e-5)
        assert mine[-1] == 0


def test_a_rows_gradient_does_not_depend_on_company_order_or_chance() -> None:
    learner, rows = game(written()), some_codes(30)
    whole = learner.gradients(rows, np.random.default_rng(0)).dense()
    alone = np.vstack([learner.gradients(row[None], np.random.default_rng(i)).dense() for i, row in enumerate(rows)])
    assert whole == pytest.approx(alone, abs=1e-6)
    assert whole[::-1] == pytest.approx(learner.gradients(rows[::-1], np.random.default_rng(5)).dense(), abs=1e-6)


def _largest_move(clip: float) -> float:
    """How far the last person moves an exact sum, in clips."""
    learner = game(written(), clip=clip)
    worlds = [training.PersonRows(FrameSource(example_table(60).slice(0, rows), example_schema())) for rows in (60, 59)]
    sums = [
        training.gradient_sum(learner, world, np.arange(world.persons), clip, np.random.default_rng(0)).astype(float)
        for world in worlds
    ]
    return float(np.linalg.norm(sums[0] - sums[1])) / CLIP_LATTICE


def test_a_person_moves_a_step_by_at_most_a_clip_and_a_missing_clip_shows() -> None:
    assert 0.5 < _largest_move(0.1) <= 1.0

    def unclipped(factors, whose, persons, clip):  # type: ignore[no-untyped-def]
        return np.concatenate([(x.slopes.T @ x.inputs).ravel() for x in factors.layers]) * CLIP_LATTICE / clip

    with patch.object(training, "factored_sum", unclipped):
        assert _largest_move(0.1) > 1.0, "the mutant must be caught"


@pytest.mark.parametrize("turns", [1, 3])
def test_a_restored_game_goes_on_identically(turns: int) -> None:
    codes, rng = written(), np.random.default_rng(1)
    one, two = game(codes, turns=turns), game(codes, turns=turns)
    steps = rng.normal(size=(6, one.parameters))
    for step in steps[:3]:
        one.update(step)
    two.restore(one.state())
    assert two.state() == one.state()
    for step in steps[3:]:
        one.update(step)
        two.update(step)
    assert two.state() == one.state()
    for mine, theirs in zip(one.weights(), two.weights(), strict=True):
        assert (mine[0] == theirs[0]).all()
        assert (mine[1] == theirs[1]).all()
    with pytest.raises(ValueError, match="not a state"):
        two.restore(one.state()[:-4])


def test_between_two_steps_no_row_is_remembered() -> None:
    """Gradients of rows leave no trace: the same noisy sum leads to the same state, whoever was looked at before."""
    codes = written()
    one, two = game(codes), game(codes)
    one.gradients(some_codes(40), np.random.default_rng(0))
    step = np.random.default_rng(2).normal(size=one.parameters)
    one.update(step)
    two.update(step)
    assert one.state() == two.state()


def test_drawn_rows_are_those_of_the_network() -> None:
    """Folded weights with settled statistics say what the trained generator says of a large batch."""
    learner = game(written())
    for step in np.random.default_rng(1).normal(size=(5, learner.parameters)):
        learner.update(step)
    weights = learner.weights()
    noise = np.random.default_rng(3).standard_normal((40, 3))
    state = noise
    for matrix, shift in weights[:-1]:
        state = np.hstack([np.maximum(state @ matrix + shift, 0), state])
    learner.generator.eval()
    with torch.no_grad():
        said = learner.generator(torch.from_numpy(noise).float(), None).numpy()
    assert state @ weights[-1][0] + weights[-1][1] == pytest.approx(said, abs=1e-4)


def test_codes_are_written_each_by_itself_and_read_back() -> None:
    codes, rows = written(), some_codes(400)
    vectors = codes.vectors(rows)
    assert (vectors == np.vstack([codes.vectors(row[None]) for row in rows])).all()
    for axis, (column, block) in enumerate(zip(codes.modes, codes.blocks, strict=True)):
        assert (vectors[:, block.first : block.end].sum(axis=1) == 1).all()
        chosen = vectors[:, block.first : block.end].argmax(axis=1)
        back = column.codes(vectors[:, block.start].astype(float), chosen)
        assert (back == rows[:, axis]).mean() > 0.95


def test_rows_of_noisy_counts_have_their_means() -> None:
    codes = written()
    drawn = codes.independent(20_000, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx(codes.means, abs=0.02)


@pytest.mark.parametrize("values", [[0, 0, 0], [-5, -9, -1], [-5, 10**9, 3]])
def test_any_noisy_counts_can_be_written(values: list[int]) -> None:
    """Counts of an empty table are noise around nothing."""
    schema = Schema([Integer("x", lower=0, upper=2)])
    noisy = [NoisyMarginal(("x",), np.array(values), 3.0)]
    codes = WrittenCodes.of(schema, noisy, total_of(noisy))
    assert total_of(noisy) >= 1
    assert np.isfinite(codes.start).all()
    assert np.isfinite(codes.vectors(np.arange(3)[:, None])).all()


@pytest.mark.slow
def test_it_learns_what_belongs_together() -> None:
    """Wards follow from the sex. Little noise: this is about training, which must be able to learn at all."""
    table, choices = example_table(2000), {"hidden": 32, "rate": 0.05, "step": 5e-3, "noise": 16}

    def right(epochs: float) -> float:
        model = fit(
            create("dp-ctgan", epochs=epochs, **choices),
            table,
            Budget(100.0, 1e-5),
            schema=example_schema(),
            simulation=2,
        )
        joint = model.project(("sex", "ward"))
        return float((joint[0, 0] + joint[1, 1] + joint[1, 2]) / joint[:2, :3].sum())

    assert right(15.0) > right(0.5) + 0.2


def test_a_release_verifies_and_draws_the_same_rows_after_a_reload(tmp_path: Path) -> None:
    model = fit(create("dp-ctgan", **TINY), example_table(), BUDGET, schema=example_schema())
    assert math.isfinite(model.certificate.epsilon)
    publish(model, tmp_path / "out", rows=50)
    checks = verify(tmp_path / "out" / "certificate.json")
    assert all_passed(checks), [c for c in checks if not c.passed]
    again = load_model(tmp_path / "out" / "model.kage")
    one, two = (m.sample_codes(200, rng=np.random.default_rng(0)) for m in (model, again))
    assert (one == two).all()


def test_an_interrupted_training_goes_on_and_pays_nothing_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    synthesizer = create("dp-ctgan", hidden=6, rate=0.1, epochs=6.0, noise=3)

    def stop(what: str, done: float) -> None:
        if "epoch" in what and done > 0.6:
            raise KeyboardInterrupt

    def run(progress: Callable[[str, float], None]) -> object:
        book = SQLiteLedger(ledger)
        return fit(
            synthesizer, example_table(), BUDGET, schema=example_schema(), ledger=book, dataset="d", progress=progress
        )

    with pytest.raises(KeyboardInterrupt):
        run(stop)
    charged = SQLiteLedger(ledger).releases()[0].charged
    seen: list[float] = []
    run(lambda what, done: seen.append(done) if "epoch" in what else None)
    assert min(seen) > 0.3, "training went on from a checkpoint"
    assert SQLiteLedger(ledger).releases()[0].charged == charged
