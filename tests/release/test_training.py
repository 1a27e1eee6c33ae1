"""Training behind the door: charged once, clipped per person, resumed from what was released."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kagemusha.errors import BudgetExceeded, PrivacyError, UsageError
from kagemusha.ledger import ReleaseRequest, SQLiteLedger, open_ledger
from kagemusha.privacy.accountants import PLD, Accounting
from kagemusha.privacy.budget import Adjacency, Budget
from kagemusha.privacy.filter import Filter
from kagemusha.privacy.mechanisms import ExactNoise, SimulatedNoise
from kagemusha.release.clipping import CLIP_LATTICE, clipped_sum
from kagemusha.release.curator import Curator
from kagemusha.release.release import Release
from kagemusha.release.training import TrainingSchedule
from kagemusha.schema import Category, Drop, Schema, Unit
from kagemusha.sources import open_source

SCHEMA = Schema([Drop("id"), *(Category(name, categories=("0", "1"), out_of_domain="clip") for name in ("x", "y"))])
SCHEDULE = TrainingSchedule(steps=40, rate=0.2, clip=1.0, noise=2.0, batch=40.0, every=10)


def table(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, rows)
    return pd.DataFrame({"id": np.arange(rows) // 4, "x": x, "y": np.where(rng.random(rows) < 0.9, x, 1 - x)})


class Logistic:
    """Predicts y from x; the smallest learner there is."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.weights = np.zeros(2)
        self.seen = 0
        self.stop_after = stop_after

    @property
    def parameters(self) -> int:
        return 2

    width = 2

    def gradients(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        self.seen += len(codes)
        if self.stop_after is not None and self.seen > self.stop_after:
            raise KeyboardInterrupt
        features = np.column_stack([np.ones(len(codes)), 2.0 * codes[:, 0] - 1])
        predicted = 1 / (1 + np.exp(-features @ self.weights))
        return features * (predicted - codes[:, 1])[:, None]

    def update(self, gradient: np.ndarray) -> None:
        self.weights = self.weights - 0.5 * gradient

    def state(self) -> bytes:
        return self.weights.tobytes()

    def restore(self, state: bytes) -> None:
        self.weights = np.frombuffer(state).copy()


def door(
    ledger: SQLiteLedger | None = None,
    *,
    schema: Schema = SCHEMA,
    schedule: TrainingSchedule = SCHEDULE,
    epsilon: float = 20.0,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    seed: int | None = 0,
) -> Curator:
    budget = Budget(epsilon, 1e-6, adjacency, schema.unit.max_rows)
    events = [schedule.event("training")]
    noise = ExactNoise() if seed is None else SimulatedNoise(np.random.default_rng(seed))
    request = ReleaseRequest("d", "m", budget, Accounting.SCHEDULE, schedule=events)
    release = Release(request, Filter(budget, Accounting.SCHEDULE, schedule=events), ledger or open_ledger(), noise)
    return Curator(open_source(table(), schema), release)


def test_it_learns_and_is_charged_as_one_event() -> None:
    curator, learner = door(), Logistic()
    curator.train(SCHEDULE, learner, what="training")
    assert learner.weights[1] > 0.5
    (event,) = curator._release.events
    assert event.kind == "sampled-gaussian"
    assert PLD().epsilon([event], 1e-6) <= 20.0


def test_a_schedule_that_costs_too_much_is_refused_before_anything_is_read() -> None:
    with pytest.raises(BudgetExceeded, match="nothing was read"):
        door(epsilon=0.5)


def test_only_the_declared_schedule_may_run() -> None:
    curator, learner = door(), Logistic()
    longer = TrainingSchedule(steps=41, rate=0.2, clip=1.0, noise=2.0, batch=40.0)
    with pytest.raises(PrivacyError, match="declared"):
        curator.train(longer, learner, what="training")
    assert learner.seen == 0


def test_after_a_crash_it_goes_on_from_the_last_checkpoint_and_pays_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with pytest.raises(KeyboardInterrupt):
        door(SQLiteLedger(path)).train(SCHEDULE, Logistic(stop_after=1000), what="training")
    ledger = SQLiteLedger(path)
    charged = ledger.releases()[0].charged
    key = ledger.steps(ledger.releases()[0].id)[0].key
    begun = ledger.checkpoint(ledger.releases()[0].id, key)
    assert begun is not None
    assert 0 < begun[0] < SCHEDULE.steps
    learner = Logistic()
    door(ledger, seed=1).train(SCHEDULE, learner, what="training")
    assert learner.seen < 1.5 * 0.2 * 200 * (SCHEDULE.steps - begun[0])
    assert ledger.releases()[0].charged == charged
    again = Logistic()
    door(ledger, seed=2).train(SCHEDULE, again, what="training")
    assert again.seen == 0, "what was answered is not read again"
    assert (again.weights == learner.weights).all()
    assert ledger.checkpoint(ledger.releases()[0].id, key) is None


def test_a_checkpoint_needs_a_charge() -> None:
    ledger = open_ledger()
    with pytest.raises(Exception, match="without a charge"):
        ledger.save_checkpoint("nobody", "k", 1, b"")


@pytest.mark.parametrize("rows", [1, 4])
def test_no_person_moves_the_sum_by_more_than_the_clip(rows: int) -> None:
    rng = np.random.default_rng(1)
    for scale in (1e-9, 1e-3, 1.0, 1e6, 1e300):
        gradients = rng.normal(0, scale, (12 * rows, 50))
        gradients[::7] = np.nan
        gradients[3::7, 0] = np.inf
        whose = np.repeat(np.arange(12), rows)
        whole = clipped_sum(gradients, whose, 12, clip=0.7)
        without = clipped_sum(gradients[:-rows], whose[:-rows], 11, clip=0.7)
        moved = (whole - without).astype(object)
        assert (moved**2).sum() <= CLIP_LATTICE**2
        if scale == 1.0 and rows == 1:
            assert (moved**2).sum() > 0.9 * CLIP_LATTICE**2, "a clip that cuts too deep would hide a wrong scale"


def test_rows_of_a_person_are_clipped_together() -> None:
    unit = SCHEMA.with_unit(Unit("id", 4))
    sums = []

    class Recorder(Logistic):
        def update(self, gradient: np.ndarray) -> None:
            sums.append(gradient)

    quiet = TrainingSchedule(steps=1, rate=1.0, clip=1e-3, noise=0.05, batch=1.0)
    for schema in (SCHEMA, unit):
        door(schema=schema, schedule=quiet, epsilon=1e4).train(quiet, Recorder(), what="training")
    rows, persons = (float(np.linalg.norm(s)) for s in sums)
    assert persons <= 1e-3 * (50 + 1) < rows, "fifty persons of four rows"


def test_persons_known_only_by_their_number_of_rows_cannot_be_clipped() -> None:
    with pytest.raises(PrivacyError, match="column"):
        door(schema=SCHEMA.with_unit(Unit(max_rows=4))).train(SCHEDULE, Logistic(), what="training")


def test_exchanged_persons_have_no_guarantee() -> None:
    with pytest.raises(PrivacyError, match="add-remove"):
        door(adjacency=Adjacency.REPLACE).train(SCHEDULE, Logistic(), what="training")


@pytest.mark.parametrize(
    ("field", "value"), [("steps", 0), ("rate", 0.0), ("rate", 1.1), ("clip", 0.0), ("noise", np.inf), ("batch", -1.0)]
)
def test_an_impossible_schedule_names_its_field(field: str, value: float) -> None:
    choices = {"steps": 1, "rate": 0.1, "clip": 1.0, "noise": 1.0, "batch": 1.0, field: value}
    with pytest.raises(UsageError, match=field):
        TrainingSchedule(**choices)  # type: ignore[arg-type]


def test_samples_come_from_the_secure_source_at_their_rate_and_fresh_each_time() -> None:
    noise = ExactNoise()
    drawn = np.array([noise.poisson_sample(0.03, 20_000).sum() for _ in range(60)])
    # at this number of draws either test errs about once in a million runs
    assert stats.binomtest(int(drawn.sum()), 1_200_000, 0.03).pvalue > 1e-6
    assert stats.binomtest(int(drawn.sum()), 1_200_000, 0.032).pvalue < 1e-6
    assert not np.array_equal(noise.poisson_sample(0.5, 200), noise.poisson_sample(0.5, 200))
    assert noise.poisson_sample(1.0, 5).all()


def test_training_noise_has_the_scale_it_was_charged_for() -> None:
    draws = ExactNoise().fast_gaussian(1000.0, 200_000)
    assert stats.kstest(draws / 1000.0, "norm").pvalue > 1e-6
    assert stats.kstest(draws / 1030.0, "norm").pvalue < 1e-6
