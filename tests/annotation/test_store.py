"""Labels on disk: none lost, none twice, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kagemusha.annotation.agreement import agreement, cohen, conflicts, fleiss, standing, usable
from kagemusha.annotation.names import checked_name
from kagemusha.annotation.store import IMPOSSIBLE, UNKNOWN, Store
from kagemusha.errors import UsageError

from .people import asked


def test_everybody_gets_another_record(tmp_path: Path) -> None:
    store = asked(tmp_path)
    one, two = store.next("Ada"), store.next("Bob")
    assert one is not None
    assert two is not None
    assert one.id != two.id
    assert store.next("Ada") == one, "what is being looked at stays the same"


def test_the_same_key_counts_once_and_a_second_label_is_refused(tmp_path: Path) -> None:
    store = asked(tmp_path)
    task = store.next("Ada")
    assert task is not None
    store.label(task.id, "Ada", "1", "key-000001")
    store.label(task.id, "Ada", "1", "key-000001")
    with pytest.raises(UsageError, match="already"):
        store.label(task.id, "Ada", "0", "key-000002")
    assert [s.answer for s in store.said()] == ["1"]


def test_undo_brings_the_record_back(tmp_path: Path) -> None:
    store = asked(tmp_path)
    assert store.undo("Ada") is None
    task = store.next("Ada")
    assert task is not None
    store.label(task.id, "Ada", "1", "key-000001")
    assert store.undo("Ada") == task
    assert store.said() == []
    assert store.next("Ada") == task
    store.label(task.id, "Ada", "0", "key-000002")
    assert [s.answer for s in store.said()] == ["0"]


def test_skipped_records_go_to_others(tmp_path: Path) -> None:
    store = asked(tmp_path, 1)
    task = store.next("Ada")
    assert task is not None
    store.skip(task.id, "Ada")
    assert store.next("Ada") is None
    assert store.next("Bob") == task


def test_what_nobody_asks_about_cannot_be_labelled(tmp_path: Path) -> None:
    store = asked(tmp_path)
    store.ask(1, [3])
    with pytest.raises(UsageError, match="not being asked"):
        store.label(1, "Ada", "1", "key-000001")
    with pytest.raises(UsageError, match="not being asked"):
        store.label(999, "Ada", "1", "key-000002")


def test_records_that_are_no_example_are_not_trained_on(tmp_path: Path) -> None:
    store = asked(tmp_path)
    for task, answer in ((1, "1"), (2, UNKNOWN), (3, IMPOSSIBLE), (4, "0")):
        store.label(task, "Ada", answer, f"key-{task:06d}")
    assert usable(store.said(), held=False) == [([0, 0, 0], "1"), ([3, 0, 0], "0")]
    assert store.progress() == {"labels": 2, "others": 2}
    assert store.counted(1) == 2


def test_disagreement_waits_until_somebody_settles_it(tmp_path: Path) -> None:
    store = asked(tmp_path, needed=2)
    for who, answer in (("Ada", "1"), ("Bob", "0")):
        store.label(1, who, answer, f"key-{who}-1")
        store.label(2, who, "1", f"key-{who}-2")
    assert conflicts(store.said()) == [1]
    assert [answer for _, answer in usable(store.said(), held=False)] == ["1"]
    store.settle(1, "Eve", "0", "key-settle-1")
    assert conflicts(store.said()) == []
    assert standing([s for s in store.said() if s.task == 1]) == "0"
    told = agreement(store.said())
    assert (told["records"], told["alike"]) == (2, 1)


def test_settling_does_not_hide_that_people_disagreed(tmp_path: Path) -> None:
    """One of the two who disagree settles it: her first answer still counts for agreement."""
    store = asked(tmp_path, needed=2)
    store.label(1, "Ada", "1", "key-ada-1")
    store.label(1, "Bob", "0", "key-bob-1")
    store.settle(1, "Ada", "0", "key-settle-1")
    store.settle(1, "Ada", "1", "key-settle-2")
    assert (agreement(store.said())["records"], agreement(store.said())["alike"]) == (1, 0)
    assert conflicts(store.said()) == []
    assert [answer for _, answer in usable(store.said(), held=False)] == ["1"], "the last word counts"


def test_only_what_was_labelled_can_be_settled(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nobody has labelled"):
        asked(tmp_path).settle(1, "Ada", "1", "key-settle-1")


def test_agreement_is_that_of_the_textbooks() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    one, other = list("0110101101"), list("0100111001")
    assert cohen(one, other) == pytest.approx(metrics.cohen_kappa_score(one, other))
    table = [[0, 3], [1, 2], [3, 0], [2, 1], [3, 0]]
    ratings = [{"0": a, "1": b} for a, b in table]
    assert fleiss(ratings) == pytest.approx(raters.fleiss_kappa(table))
    assert cohen([], []) is None
    assert fleiss([{"0": 2}]) is None


def test_many_people_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    store = asked(tmp_path, 120)

    def work(who: int) -> int:
        mine = Store(store.path)
        count = 0
        while (task := mine.next(f"person {who}")) is not None:
            mine.label(task.id, f"person {who}", "1", f"key-{who}-{task.id}")
            count += 1
        return count

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(work, range(8)))
    said = store.said()
    assert sum(counts) == len(said) == len({s.task for s in said}) == 120


WORKER = """
import sys
from kagemusha.annotation.store import Store
from pathlib import Path
store = Store(Path(sys.argv[1]))
while (task := store.next(sys.argv[2])) is not None:
    store.label(task.id, sys.argv[2], "1", f"{sys.argv[2]}-{task.id:08d}")
    print(task.id, flush=True)
"""


def test_kill_at_any_moment_loses_no_acknowledged_label(tmp_path: Path) -> None:
    store = asked(tmp_path, 400)
    acknowledged: list[int] = []
    for turn in range(4):
        log = tmp_path / f"log-{turn}"
        with log.open("w") as out:
            process = subprocess.Popen([sys.executable, "-c", WORKER, str(store.path), f"killed-{turn}"], stdout=out)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and log.read_text().count("\n") < 12 + 7 * turn:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        acknowledged += [int(line) for line in log.read_text().splitlines() if line.strip()]
    kept = [s.task for s in store.said()]
    assert len(acknowledged) >= 4 * 12
    assert set(acknowledged) <= set(kept)
    assert len(kept) == len(set(kept))
    assert len(kept) <= len(acknowledged) + 4, "at most the one in flight at each kill was kept without a word"


@pytest.mark.parametrize("name", ["", "   ", "a" * 61, 7, None, "a\u202eb"])
def test_names_are_short_texts(name: object) -> None:
    with pytest.raises(UsageError, match="name"):
        checked_name(name)


def test_the_store_is_its_owners_alone(tmp_path: Path) -> None:
    assert asked(tmp_path / "p").path.stat().st_mode & 0o077 == 0
    assert (tmp_path / "p").stat().st_mode & 0o077 == 0
