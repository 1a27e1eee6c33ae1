"""The same plays on any number of workers, and after kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from little import Drawn, little

from kagemusha.attacks.game import Game, Outcome, Rules
from kagemusha.attacks.inference.registry import inferences
from kagemusha.attacks.runner import run
from kagemusha.attacks.synthesis.method import Method
from kagemusha.attacks.targets import choose
from kagemusha.attacks.threat import COUNTING
from kagemusha.errors import DataError, UsageError
from kagemusha.privacy.budget import Budget

ATTACKS = (
    "mvl-orig-best",
    "mvl-syn",
    "neighbour",
    "density-ratio",
    "support",
    "row-count",
    "likelihood-ratio",
    "shadow",
    "lr-naive",
)
RULES = Rules(trainings=6, generations=2, references=4, strangers=4)
MAKER = Method("independent", Budget(1.0, 1e-6))


def game(maker: object = MAKER, rules: Rules = RULES, seed: int = 0) -> Game:
    table = little()
    targets = [choose(kind, table, rng=np.random.default_rng(0)) for kind in ("selective", "adaptive")]
    return Game(table, targets, maker, inferences(ATTACKS), threat=COUNTING, rules=rules, seed=seed)  # type: ignore[arg-type]


def same(a: Outcome, b: Outcome) -> bool:
    return list(a.scores) == list(b.scores) and all((a.scores[c] == b.scores[c]).all() for c in a.scores)


def test_plays_do_not_hang_on_the_number_of_workers(tmp_path: Path) -> None:
    alone = run(game())
    assert same(alone, run(game(), tmp_path / "two", jobs=2))
    assert same(alone, run(game(), tmp_path / "two"))  # from disk
    assert not same(alone, run(game(seed=1)))


def test_more_trainings_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    run(game(), tmp_path)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "units").iterdir()}
    more = Rules(trainings=8, generations=2, references=4, strangers=4)
    grown = run(game(rules=more), tmp_path)
    assert same(grown, run(game(rules=more)))
    assert all(p.stat().st_mtime_ns == at for p, at in before.items())


def test_a_damaged_file_is_played_again(tmp_path: Path) -> None:
    first = run(game(), tmp_path)
    hurt = sorted((tmp_path / "units").iterdir())[3]
    hurt.write_bytes(hurt.read_bytes()[:50])
    assert same(first, run(game(), tmp_path))


def test_a_folder_of_another_game_is_refused(tmp_path: Path) -> None:
    run(game(), tmp_path)
    with pytest.raises(DataError, match="another table"):
        run(game(seed=5), tmp_path)
    with pytest.raises(UsageError, match="jobs"):
        run(game(), jobs=0)


def test_progress_rises_to_the_end() -> None:
    told: list[float] = []
    run(game(Drawn()), progress=lambda _, done: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1.0


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from little import Drawn
from test_runner import game
from kagemusha.attacks.runner import run
run(game(Drawn(slow=0.05)), Path(sys.argv[1]), jobs=int(sys.argv[2]), scheduler=sys.argv[3] or None)
"""


def killed(folder: Path, jobs: int = 1, scheduler: str = "") -> dict[Path, bytes]:
    """Plays that are on disk when a run is killed after five or more."""
    script = SCRIPT.format(here=str(Path(__file__).parent))
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder), str(jobs), scheduler],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 60
        while len(list(folder.glob("units/*.npz"))) < 5:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    kept = {p: p.read_bytes() for p in folder.glob("units/*.npz")}
    assert 5 <= len(kept) < len(game().runs())
    return kept


@pytest.mark.parametrize("jobs", [1, 2])
def test_kill_9_loses_nothing(tmp_path: Path, jobs: int) -> None:
    kept = killed(tmp_path, jobs)
    assert same(run(game(Drawn())), run(game(Drawn()), tmp_path))
    assert all(p.read_bytes() == content for p, content in kept.items())


def test_a_cluster_plays_the_same_and_keeps_plays_as_they_finish(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=False, protocol="tcp://", dashboard_address=None
    ) as cluster:
        kept = killed(tmp_path, scheduler=cluster.scheduler_address)
        assert same(run(game(Drawn())), run(game(Drawn()), tmp_path, scheduler=cluster.scheduler_address))
        assert all(p.read_bytes() == content for p, content in kept.items())
        cluster.scale(0)
        with pytest.raises(UsageError, match="no workers"):
            run(game(Drawn()), scheduler=cluster.scheduler_address)


def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("kagemusha.cluster.PATIENCE", 1)
    with pytest.raises(UsageError, match="cannot be reached"):
        run(game(), scheduler="tcp://127.0.0.1:9")
