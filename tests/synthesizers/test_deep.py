"""The deep family: one declared schedule that adds up, mutants that are caught, releases that verify."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")

from kagemusha.certificate.verify import all_passed, verify
from kagemusha.door import publish
from kagemusha.errors import PrivacyError, UsageError
from kagemusha.ledger import SQLiteLedger
from kagemusha.models.model import load_model
from kagemusha.privacy.accountants import PLD, RDP, Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.events import GaussianEvent, SampledGaussianEvent
from kagemusha.privacy.filter import cost_of
from kagemusha.privacy.mechanisms import SimulatedNoise
from kagemusha.release import training
from kagemusha.schema import Unit
from kagemusha.synthesizers.contract import example_schema, example_table
from kagemusha.synthesizers.deep.spending import solved_noise
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import create

SMALL = {"hidden": 6, "rate": 0.25, "epochs": 2.0, "latent": 2}
BUDGET = Budget(1.0, 1e-6)
PRIVATE = {
    "p3gm": {**SMALL, "components": 2, "iterations": 2},
    "ae": SMALL,
    "dp-vae": SMALL,
    "dp-gm": {**SMALL, "clusters": 2},
    "dp-ctgan": {"hidden": 6, "rate": 0.25, "epochs": 2.0, "noise": 3},
}


@pytest.mark.parametrize("name", PRIVATE)
def test_what_the_phases_spend_adds_up_to_the_certificate(name: str) -> None:
    synthesizer = create(name, **PRIVATE[name])
    model = fit(synthesizer, example_table(), BUDGET, schema=example_schema(), simulation=0)
    events = model.certificate.events
    declared = synthesizer.schedule(example_schema().domain, BUDGET)
    assert [e.cost_alone for e in events] == [e.cost_alone for e in declared]
    *sums, last = events
    assert isinstance(last, SampledGaussianEvent)
    assert all(isinstance(e, GaussianEvent) and e.noise == "rounded" for e in sums)
    shares = dict(synthesizer.plan(example_schema().domain, BUDGET).steps)
    rest = next(share for what, share in shares.items() if what.startswith("training"))
    spending = synthesizer.spending(*([example_schema().domain] if name in ("p3gm", "ae", "dp-ctgan") else []), BUDGET)
    assert sum(float(e.rho or 0) for e in sums) == pytest.approx((1 - rest) * spending.rho, rel=1e-6)
    total = model.certificate.totals["pld"]
    assert 0.99 < total <= 1.0, "what training may cost is what the phases left"
    assert PLD().epsilon(sums, 1e-6) < total
    assert model.certificate.totals["rdp"] >= total, "printed beside"


@pytest.mark.slow
def test_two_hundred_settings_never_pass_their_target() -> None:
    _try_settings(200, 0)


def test_settings_never_pass_their_target() -> None:
    _try_settings(8, 1)


def _try_settings(count: int, seed: int) -> None:
    """By PLD on the filter's grid, and by PLD on a finer one; Rényi DP, which is looser, must not be below."""
    rng = np.random.default_rng(seed)
    for trial in range(count):
        rate = float(10 ** rng.uniform(-1.7, -0.3))
        epochs, rows = float(rng.uniform(0.5, 6)), int(rng.integers(1, 4))
        steps = max(1, round(epochs / rate))
        epsilon, delta = float(10 ** rng.uniform(-1, 1)), float(10 ** rng.uniform(-8, -4))
        name = ("p3gm", "dp-vae", "dp-gm", "dp-ctgan")[trial % 4]
        extra = {
            "p3gm": {
                "components": int(rng.integers(1, 5)),
                "iterations": int(rng.integers(1, 6)),
                "pca": float(rng.uniform(0.05, 0.4)),
                "em": float(rng.uniform(0.05, 0.4)),
            },
            "dp-vae": {"count": float(rng.uniform(0.01, 0.1))},
            "dp-gm": {"clusters": int(rng.integers(1, 8)), "clustering": float(rng.uniform(0.05, 0.5))},
            "dp-ctgan": {"counts": float(rng.uniform(0.05, 0.5))},
        }[name]
        size = {"noise" if name == "dp-ctgan" else "latent": int(rng.integers(1, 30))}
        synthesizer = create(name, hidden=4, rate=rate, epochs=epochs, **size, **extra)
        budget = Budget(epsilon, delta, Adjacency.ADD_REMOVE, rows)
        events = synthesizer.schedule(example_schema().domain, budget)
        assert events[-1].steps == steps  # type: ignore[attr-defined]
        used = PLD().epsilon(events, delta)
        assert 0.9 * epsilon < used <= epsilon, f"{name} {trial}: {used} of {epsilon}"
        if trial % 20 == 0:
            finer = PLD(3e-5 * epsilon).epsilon(events, delta)
            assert finer <= epsilon
            assert RDP().epsilon(events, delta) >= 0.999 * finer


def test_more_noise_is_solved_for_less_epsilon_and_more_steps() -> None:
    base = solved_noise(0.0, 0.1, 20, 1.0, 1e-5)
    assert solved_noise(0.0, 0.1, 20, 0.5, 1e-5) > base
    assert solved_noise(0.0, 0.1, 80, 1.0, 1e-5) > base
    assert solved_noise(0.01, 0.1, 20, 1.0, 1e-5) > base


def test_schedules_hold_no_discrete_gaussian() -> None:
    """Numerical composition knows the Gaussian; between its atoms the discrete one costs more."""
    with pytest.raises(PrivacyError, match="discrete"):
        cost_of(GaussianEvent(what="", sigma=1.0, l2_squared=1, noise="discrete"), Accounting.SCHEDULE)


@pytest.mark.parametrize("name", ["p3gm", "dp-gm"])
def test_a_release_verifies_and_draws_the_same_rows_after_a_reload(name: str, tmp_path: Path) -> None:
    model = fit(create(name, **PRIVATE[name]), example_table(), BUDGET, schema=example_schema())
    assert math.isfinite(model.certificate.epsilon)
    publish(model, tmp_path / "out", rows=50)
    checks = verify(tmp_path / "out" / "certificate.json")
    assert all_passed(checks), [c for c in checks if not c.passed]
    assert any("53 bits" in sentence for sentence in model.certificate.assumptions)
    assert "doubles" in model.certificate.noise
    again = load_model(tmp_path / "out" / "model.kage")
    one, two = (m.sample_codes(200, rng=np.random.default_rng(0)) for m in (model, again))
    assert (one == two).all()


def test_a_certificate_without_the_sentence_on_floating_noise_fails(tmp_path: Path) -> None:
    from dataclasses import replace

    model = fit(create("dp-vae", **PRIVATE["dp-vae"]), example_table(), BUDGET, schema=example_schema())
    short = replace(model.certificate, assumptions=model.certificate.assumptions[:-1])
    path = tmp_path / "alone.json"
    path.write_text(short.to_json())
    failed = [check.what for check in verify(path) if not check.passed]
    assert failed == ["assumptions"]


def test_wishart_noise_gets_no_promise() -> None:
    synthesizer = create("p3gm-wishart", **SMALL)
    model = fit(synthesizer, example_table(), BUDGET, schema=example_schema())
    assert math.isinf(model.certificate.epsilon)
    assert any("Wishart" in why for why in model.certificate.broken_because)


def test_persons_of_several_rows_are_protected_together() -> None:
    from kagemusha.schema import Drop, Schema

    frame = example_table().to_pandas().assign(who=lambda t: np.arange(len(t)) // 4)
    schema = Schema([Drop("who"), *example_schema().columns], Unit("who", 4))
    for name, options in PRIVATE.items():
        model = fit(create(name, **options), frame, BUDGET, schema=schema, simulation=0)
        assert model.certificate.promised.rows == 4
        assert all(e.l2_squared % 16 == 0 for e in model.certificate.events if isinstance(e, GaussianEvent))


def test_an_interrupted_training_goes_on_and_pays_nothing_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    synthesizer = create("p3gm", hidden=6, rate=0.1, epochs=6.0, latent=2)
    noted: list[float] = []

    def stop(what: str, done: float) -> None:
        noted.append(done)
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


def test_what_cannot_be_promised_is_refused_in_words() -> None:
    for name, options in PRIVATE.items():
        with pytest.raises(UsageError, match="adjacency"):
            fit(
                create(name, **options),
                example_table(),
                Budget(1.0, 1e-6, Adjacency.REPLACE),
                schema=example_schema(),
            )
    left_open = example_schema().replace("ward", categories=None)
    with pytest.raises(UsageError, match="before the first"):
        fit(create("dp-vae", **SMALL), example_table(), BUDGET, schema=left_open, discover=0.1)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("p3gm", "latent", 0),
        ("p3gm", "pca", 1.0),
        ("p3gm", "em", 0.9),
        ("dp-vae", "count", 0.0),
        ("dp-gm", "clusters", 0),
        ("dp-gm", "clustering", 1.0),
        ("dp-ctgan", "counts", 0.0),
        ("dp-ctgan", "noise", 0),
        ("dp-ctgan", "turns", 0),
        ("dp-ctgan", "hidden", 1),
        ("p3gm", "hidden", 1),
        ("p3gm", "rate", 0.0),
        ("p3gm", "epochs", 0.0),
    ],
)
def test_an_impossible_option_is_named(name: str, option: str, value: float) -> None:
    with pytest.raises(UsageError, match=option):
        create(name, **{option: value})


def test_labels_of_a_conditional_model_come_at_the_released_proportion() -> None:
    """Not at the true one, which nobody paid for: with much noise they differ."""
    frame = pd.DataFrame({"x": np.tile(np.arange(10), 20), "kind": ["u"] * 150 + ["v"] * 50})
    from kagemusha.schema import Category, Integer, Schema

    schema = Schema([Integer("x", lower=0, upper=9), Category("kind", categories=("u", "v"), out_of_domain="clip")])
    shares = []
    for seed in range(3):
        model = fit(create("p3gm", **SMALL, target="kind"), frame, Budget(0.2, 1e-6), schema=schema, simulation=seed)
        counts = model.project(("kind",))
        shares.append(float(counts[0] / counts.sum()))
    assert len({round(share, 3) for share in shares}) == 3
    assert all(abs(share - 0.75) > 1e-3 for share in shares)


# mutants: each must show in what a person can move, or in how often a person is in a sample


def _largest_move(schedule: training.TrainingSchedule, seeds: int = 3) -> float:
    """The largest distance of exact sums of two worlds that differ in the last person, in clips."""
    from kagemusha.neural.inputs import Inputs
    from kagemusha.neural.learners import Variational
    from kagemusha.schema.features import features_of
    from kagemusha.sources import FrameSource

    schema = example_schema()
    learner = Variational(Inputs(features_of(schema), range(4)), 2, 6, 1e-3)
    worlds = [training.PersonRows(FrameSource(example_table(60).slice(0, rows), schema)) for rows in (60, 59)]
    found = 0.0
    for seed in range(seeds):
        sums = [
            training.gradient_sum(learner, w, np.arange(w.persons), schedule.clip, np.random.default_rng(seed))
            for w in worlds
        ]
        found = max(found, float(np.linalg.norm((sums[0] - sums[1]).astype(float))) / training.CLIP_LATTICE)
    return found


SCHEDULE = training.TrainingSchedule(steps=4, rate=0.25, clip=0.1, noise=1.0, batch=10.0)


def test_a_person_moves_a_step_by_at_most_a_clip_and_a_missing_clip_shows() -> None:
    assert 0.5 < _largest_move(SCHEDULE) <= 1.0

    def unclipped(factors, whose, persons, clip):  # type: ignore[no-untyped-def]
        return np.concatenate([(x.slopes.T @ x.inputs).ravel() for x in factors.layers]) * training.CLIP_LATTICE / clip

    with patch.object(training, "factored_sum", unclipped):
        assert _largest_move(SCHEDULE) > 1.0, "the mutant must be caught"


def _variational() -> training.Learner:
    from kagemusha.neural.inputs import Inputs
    from kagemusha.neural.learners import Variational
    from kagemusha.schema.features import features_of

    return Variational(Inputs(features_of(example_schema()), range(4)), 2, 6, 1e-3)


def _private_game() -> training.Learner:
    from kagemusha.marginals import NoisyMarginal
    from kagemusha.neural.private_gan import PrivateGame
    from kagemusha.synthesizers.written_codes import WrittenCodes

    schema = example_schema()
    even = [NoisyMarginal((c.name,), np.full(c.size, 10), 1.0) for c in schema.modelled]
    codes = WrittenCodes.of(schema, even, 200.0)
    parts = (codes.blocks, codes.vectors, codes.independent, codes.start, codes.means)
    return PrivateGame(*parts, hidden=6, noise=3, rate=1e-3, clip=1.0)


def _watched_steps(
    noise: SimulatedNoise, steps: int = 60, make: Callable[[], training.Learner] = _variational
) -> tuple[list[np.ndarray], np.ndarray]:
    """Who was in the samples of a training, and the noise of each step in units of what was charged."""
    from kagemusha.ledger import ReleaseRequest, open_ledger
    from kagemusha.privacy.filter import Filter
    from kagemusha.release.release import Release
    from kagemusha.sources import FrameSource

    schema = example_schema()
    schedule = training.TrainingSchedule(steps=steps, rate=0.25, clip=1.0, noise=3.0, batch=10.0)
    budget = Budget(100.0, 1e-6)
    events = [schedule.event("t")]
    request = ReleaseRequest("d", "m", budget, Accounting.SCHEDULE, schedule=events)
    allowed = Filter(budget, Accounting.SCHEDULE, schedule=events)
    sampled, noises = [], []

    def watch(learner, schedule, rows, step):  # type: ignore[no-untyped-def]
        sampled.append(step.sampled)
        noises.append((step.noisy - step.exact) / (schedule.noise * training.CLIP_LATTICE))

    with Release(request, allowed, open_ledger(), noise) as release:
        source = FrameSource(example_table(200), schema)
        training.train(release, source, schedule, make(), what="t", progress=lambda *_: None, watch=watch)
    return sampled, np.concatenate(noises)


def _is_poisson(sampled: list[np.ndarray], persons: int = 200, rate: float = 0.25) -> bool:
    """Sizes vary as a binomial does, and nobody waits for their turn."""
    from scipy import stats

    sizes = np.array([len(s) for s in sampled])
    spread = sizes.var(ddof=1) / (persons * rate * (1 - rate))
    inside = np.zeros((len(sampled), persons))
    for i, s in enumerate(sampled):
        inside[i, s] = 1
    turns = inside.sum(axis=0)
    even = turns.var(ddof=1) / (len(sampled) * rate * (1 - rate))
    low, high = stats.chi2.ppf([1e-6, 1 - 1e-6], len(sampled) - 1) / (len(sampled) - 1)
    return bool(low < spread < high and even > 0.4)


def test_samples_are_poisson_and_a_shuffle_shows() -> None:
    sampled, _ = _watched_steps(SimulatedNoise(np.random.default_rng(0)))
    assert _is_poisson(sampled)

    class Shuffled(SimulatedNoise):
        order: np.ndarray | None = None

        def poisson_sample(self, rate: float, size: int) -> np.ndarray:
            batch = round(rate * size)
            if self.order is None or len(self.order) < batch:
                self.order = self._rng.permutation(size)
            chosen, self.order = self.order[:batch], self.order[batch:]
            return np.isin(np.arange(size), chosen)

    shuffled, _ = _watched_steps(Shuffled(np.random.default_rng(0)))
    assert not _is_poisson(shuffled), "the mutant must be caught"


@pytest.mark.parametrize("make", [_variational, _private_game])
def test_noise_has_the_scale_that_was_charged_and_half_of_it_shows(make: Callable[[], training.Learner]) -> None:
    from scipy import stats

    _, noise = _watched_steps(SimulatedNoise(np.random.default_rng(1)), steps=20, make=make)
    assert stats.kstest(noise, "norm").pvalue > 1e-6

    class Halved(SimulatedNoise):
        def fast_gaussian(self, sigma: float, size: int) -> np.ndarray:
            return super().fast_gaussian(sigma / 2, size)

    _, halved = _watched_steps(Halved(np.random.default_rng(1)), steps=20, make=make)
    assert stats.kstest(halved, "norm").pvalue < 1e-6, "the mutant must be caught"


def test_nothing_is_read_without_a_charge_and_an_exact_mean_shows() -> None:
    """Every question to the records goes through the Curator, which charged for it.

    A mean taken beside it is noticed.
    """
    from kagemusha.sources import FrameSource
    from kagemusha.synthesizers.deep import embedding

    class Counting(FrameSource):
        reads = 0

        def records(self):  # type: ignore[no-untyped-def]
            type(self).reads += 1
            return super().records()

        def batches(self):  # type: ignore[no-untyped-def]
            type(self).reads += 1
            return super().batches()

        def count(self, cliques):  # type: ignore[no-untyped-def]
            begun = type(self).reads
            found = super().count(cliques)
            type(self).reads = begun  # counts are no records
            return found

    def reads() -> tuple[int, int]:
        Counting.reads = 0
        source = Counting(example_table(), example_schema())
        model = fit(create("p3gm", **SMALL), source, BUDGET, simulation=0)
        return Counting.reads, len(model.certificate.events)

    seen, charged = reads()
    assert seen == charged

    whole = embedding.embed

    def exact_mean(asking, *arguments, **named):  # type: ignore[no-untyped-def]
        asking._curator._source.records()
        return whole(asking, *arguments, **named)

    with patch("kagemusha.synthesizers.deep.p3gm.embed", exact_mean):
        seen, charged = reads()
    assert seen != charged, "the mutant must be caught"
