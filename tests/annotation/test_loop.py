"""Both budgets, the schedules, and going on after a stop."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kagemusha.annotation.desk import SimulatedDesk
from kagemusha.annotation.judges import ForestTrainer
from kagemusha.annotation.loop import _Run
from kagemusha.annotation.project import run_rounds
from kagemusha.annotation.store import UNKNOWN, Store
from kagemusha.annotation.store_desk import wilson
from kagemusha.certificate.sensitivities import wrong_sensitivities
from kagemusha.errors import UsageError
from kagemusha.folder.table_file import write_table
from kagemusha.ledger import open_ledger
from kagemusha.privacy.budget import Budget
from kagemusha.privacy.events import ExponentialEvent, GaussianEvent
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.registry import names

from .people import SCHEMA, oracle, project, settings, table

QUICK = ForestTrainer(trees=6)


def run(desk: SimulatedDesk, **choices: object) -> Any:
    return fit(settings(**choices).at(desk, trained=QUICK), table(), Budget(1.0, 1e-6), schema=SCHEMA, simulation=1)


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"when": "after"},
        {"ask": "random", "when": "after"},
        {"ask": "batch-bald"},
        {"ask": "entropy"},
        {"pace": "flat"},
        {"pace": "adaptive"},
        {"privacy": "annealed"},
        {"weights": "bare"},
        {"weights": "none"},
        {"held": 0.2},
        {"labels": 5},
        {"loop": "kage"},
        {"loop": "kage", "when": "after"},
        {"loop": "kage", "weights": "none", "pace": "adaptive"},
        {"loop": "kage", "rounds": 1, "held": 0.2},
    ],
    ids=str,
)
def test_both_budgets_are_spent_and_neither_is_passed(choices: dict[str, object]) -> None:
    desk = SimulatedDesk(oracle)
    model = run(desk, **choices)
    given = len(desk.answers()) + len(desk.answers(held=True))
    assert given == choices.get("labels", 30)
    released = fit(
        settings(**choices).at(SimulatedDesk(oracle), trained=QUICK), table(), Budget(1.0, 1e-6), schema=SCHEMA
    )
    certificate = released.certificate
    assert certificate.epsilon <= 1.0
    assert certificate.epsilon > 0.9
    assert not wrong_sensitivities(certificate, SCHEMA)
    assert len(model.trace) == 3 or choices.get("privacy") == "annealed" or choices.get("loop") == "kage"


def test_labels_come_between_rounds_as_the_paper_has_it() -> None:
    heard: list[tuple[int, int]] = []
    desk = SimulatedDesk(oracle, lambda number, answers: heard.append((number, len(answers))))
    run(desk, labels=60, batch=1)
    by_round = {number: max(n for m, n in heard if m == number) for number, _ in heard}
    assert by_round[0] == 8  # before the first round
    assert by_round[1] == 8 + 5
    assert by_round[2] == 8 + 5 + 10
    assert max(by_round.values()) == 60


def test_costs_are_split_as_written() -> None:
    model = run(SimulatedDesk(oracle))
    events = model.certificate.events
    measured = [e.rho for e in events if isinstance(e, GaussianEvent)]
    chosen = [e.rho for e in events if isinstance(e, ExponentialEvent)]
    assert len(measured) == 3 + 3
    assert len(chosen) == 3
    assert float(max(measured)) == pytest.approx(float(min(measured)), rel=1e-3)
    assert float(sum(chosen) / (sum(chosen) + sum(measured))) == pytest.approx(0.1, rel=1e-3)
    assert any("weighted" in e.what for e in events)


def test_the_judge_learns_what_the_expert_knows() -> None:
    told: list[tuple[int, int]] = []
    desk = SimulatedDesk(oracle)
    desk.judged = lambda right, of: told.append((right, of))  # type: ignore[method-assign]
    run(desk, labels=120, held=0.25)
    right, of = told[-1]
    assert of >= 20
    assert right / of > 0.8


@pytest.mark.parametrize("loop", ["aim", "kage"])
def test_there_may_be_more_than_two_classes(loop: str) -> None:
    told: list[tuple[int, int]] = []
    desk = SimulatedDesk(lambda codes: np.minimum(codes[:, 0] // 3, 3))
    desk.judged = lambda right, of: told.append((right, of))  # type: ignore[method-assign]
    run(desk, loop=loop, classes=4, labels=100, held=0.25, ask="batch-bald", batch=10)
    assert set(desk.answers().labels.tolist()) == {0, 1, 2, 3}
    assert told[-1][0] / told[-1][1] > 0.7


def answering(store: Store, stop: threading.Event, most: int) -> threading.Thread:
    """Somebody who labels until there are enough."""

    def work() -> None:
        count = 0
        while not stop.is_set() and count < most:
            task = store.next("Ada")
            if task is None:
                time.sleep(0.02)
                continue
            codes = next(c for c in [store.pool(task.round)[_position(store, task.id)]])
            store.label(task.id, "Ada", str(int(oracle(np.array([codes]))[0])), f"key-{task.id:08d}")
            count += 1

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _position(store: Store, task: int) -> int:
    with store._looking() as database:
        return int(database.execute("SELECT position FROM tasks WHERE id = ?", (task,)).fetchone()["position"])


class Stopped(Exception):
    """The power is gone."""


def test_stopped_and_started_again_it_pays_and_asks_nothing_twice(tmp_path: Path) -> None:
    """The first run is stopped in the middle.

    The second gets every earlier answer from the ledger and every label from the store.
    """
    write_table(table(), tmp_path / "people.csv")
    chosen, store = project(tmp_path / "labels", labels=24)
    stop = threading.Event()
    helper = answering(store, stop, 14)

    def rested() -> None:
        if not helper.is_alive():
            raise Stopped

    with pytest.raises(Stopped):
        run_rounds(chosen, store, tmp_path / "people.csv", SCHEMA, ledger=tmp_path / "ledger.db", rested=rested)
    before = store.progress()["labels"]
    assert before == 14
    stop.clear()
    helper = answering(store, stop, 100)
    model = run_rounds(chosen, store, tmp_path / "people.csv", SCHEMA, ledger=tmp_path / "ledger.db")
    stop.set()
    assert store.progress()["labels"] == 24
    assert model.certificate.epsilon <= 1.0
    assert len(open_ledger(tmp_path / "ledger.db").releases()) == 1
    kept = [(s.task, s.answer) for s in store.said()]
    assert len(kept) == len({task for task, _ in kept}) == 24


@pytest.mark.parametrize("loop", ["aim", "kage"])
def test_people_who_are_quicker_than_the_loop_do_not_stop_it(tmp_path: Path, loop: str) -> None:
    """They label everything in the first queue, all labels are in, and the rounds that are left go on without."""
    write_table(table(), tmp_path / "people.csv")
    chosen, store = project(tmp_path / "labels", labels=20, loop=loop, ahead=25)
    stop = threading.Event()
    answering(store, stop, 100)
    deadline = time.monotonic() + 60

    def rested() -> None:
        time.sleep(0.5)  # the loop is slow
        assert time.monotonic() < deadline, "it waits for labels that nobody will be asked for"

    model = run_rounds(chosen, store, tmp_path / "people.csv", SCHEMA, ledger=tmp_path / "ledger.db", rested=rested)
    stop.set()
    assert store.progress()["labels"] == 20
    assert 0.9 < model.certificate.epsilon <= 1.0


def test_with_kage_a_restart_asks_for_the_same_although_labels_have_changed(tmp_path: Path) -> None:
    """Costs follow labels here.

    What labels said is written down before it is used, so nothing is asked or paid anew.
    """
    write_table(table(), tmp_path / "people.csv")
    chosen, store = project(tmp_path / "labels", labels=40, loop="kage", first=12)
    stop = threading.Event()
    helper = answering(store, stop, 24)

    def rested() -> None:
        if not helper.is_alive():
            raise Stopped

    with pytest.raises(Stopped):
        run_rounds(chosen, store, tmp_path / "people.csv", SCHEMA, ledger=tmp_path / "ledger.db", rested=rested)
    assert store.fact("importance-1"), "two rounds were paid by now"
    assert len(set(store.fact("importance-1"))) > 1, "labels had a say"
    before = open_ledger(tmp_path / "ledger.db").releases()[0]
    for one in store.said()[:10]:  # somebody has second thoughts
        store.settle(one.task, "Eve", str(1 - int(one.answer)), f"key-eve-{one.task:06d}")
    helper = answering(store, stop, 100)
    model = run_rounds(chosen, store, tmp_path / "people.csv", SCHEMA, ledger=tmp_path / "ledger.db")
    stop.set()
    (after,) = open_ledger(tmp_path / "ledger.db").releases()
    assert after.id == before.id
    assert 0.9 < model.certificate.epsilon <= 1.0


def test_a_project_goes_on_with_its_own_settings_only(tmp_path: Path) -> None:
    project(tmp_path)
    with pytest.raises(UsageError, match="begun with another"):
        project(tmp_path, rounds=7)


def test_it_is_no_method_without_people() -> None:
    assert "aim-bald" not in names()
    with pytest.raises(UsageError, match="annotate"):
        fit(settings(), table(), Budget(1.0, 1e-6), schema=SCHEMA, simulation=1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("loop", "?"),
        ("step", 0),
        ("weights", "?"),
        ("rounds", 0),
        ("labels", 0),
        ("classes", 1),
        ("held", 1.0),
        ("sharpness", 0.0),
        ("ask", "?"),
        ("judge", "?"),
    ],
)
def test_impossible_settings_are_named(field: str, value: object) -> None:
    with pytest.raises(UsageError, match="acquisition" if field == "ask" else field):
        settings(**{field: value})


def test_only_aim_anneals() -> None:
    with pytest.raises(UsageError, match="privacy must be fixed with loop kage"):
        settings(loop="kage", privacy="annealed")


@pytest.mark.parametrize("candidates", [1, 2, 5])
def test_each_round_looks_at_so_many_doubles_per_label(candidates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every arm and round the same: with many candidates early rounds would ask about the oddest doubles alone."""
    seen: list[tuple[int, int]] = []
    order = _Run._order

    def watched(self: _Run, judge: Any, vectors: Any, how: str) -> Any:
        seen.append((len(vectors), len(self.desk._answered)))  # type: ignore[attr-defined]
        return order(self, judge, vectors, how)

    monkeypatch.setattr(_Run, "_order", watched)
    run(SimulatedDesk(oracle), candidates=candidates, batch=100, first=8, labels=30, rounds=3)
    assert [looked for looked, _ in seen] == [candidates * quota for quota in (8, 5, 10, 7)]


def test_labelled_records_may_be_there_from_the_beginning() -> None:
    drawn = np.zeros((6, 3), dtype=np.int64)
    given = [(record, label, False) for label, record in enumerate(drawn[:2])]
    desk = SimulatedDesk(oracle, given=[*given])
    run(desk, first=0, labels=10)
    assert len(desk.answers()) == 12
    assert desk.answers().labels[:2].tolist() == [0, 1]


def test_doubles_that_nobody_can_label_are_replaced(tmp_path: Path) -> None:
    """Ten people in a row say "cannot tell": the queue has others to ask about."""
    made, store = project(tmp_path, labels=6, first=6, rounds=1, candidates=1, ahead=25)
    asked: list[int] = []
    done = threading.Event()

    def people() -> None:
        while not done.is_set() and not store.enough():
            task = store.next("ann")
            if task is None:
                time.sleep(0.02)
                continue
            asked.append(task.id)
            store.label_and_next(task.id, "ann", UNKNOWN if len(asked) <= 10 else "0", f"key-{len(asked)}")

    worker = threading.Thread(target=people, daemon=True)
    worker.start()
    path = tmp_path / "people.parquet"
    write_table(table(), path)
    run_rounds(made, store, path, SCHEMA, ledger=tmp_path / "ledger.db")
    done.set()
    worker.join()
    assert len(set(asked)) == 16


def test_intervals_are_wilsons() -> None:
    statsmodels = pytest.importorskip("statsmodels.stats.proportion")
    for right, of in ((0, 5), (3, 7), (50, 60), (9, 9)):
        assert wilson(right, of) == pytest.approx(statsmodels.proportion_confint(right, of, method="wilson"), abs=1e-4)
