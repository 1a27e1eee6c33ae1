"""The committed page of the AIM paper is what its runs say."""

from __future__ import annotations

import shutil
from pathlib import Path

from kagemusha.reproduce import aim, aim_runs
from kagemusha.reproduce.aim_page import RUNS, Report
from kagemusha.reproduce.aim_runs import read_runs, settings_of
from kagemusha.reproduce.pages import PAGE
from kagemusha.reproduce.repeats import REPEATS

COMMITTED = Path(__file__).parents[2] / "results" / "aim"


def test_the_committed_page_is_what_its_runs_say(tmp_path: Path) -> None:
    """A page written by hand, or left behind by a change of the code that writes it, fails here."""
    if (COMMITTED / REPEATS).exists():
        shutil.copy(COMMITTED / REPEATS, tmp_path)
    assert (COMMITTED / PAGE).read_text(encoding="utf-8") == Report.read(COMMITTED).write(tmp_path)


def test_the_committed_runs_carry_their_version_and_todays_settings() -> None:
    """A run whose settings are no longer those of its arm is stale."""
    runs = read_runs(COMMITTED / RUNS)
    assert {r.arm for r in runs} == {arm.name for arm in aim_runs.ARMS}
    assert len({r.seed for r in runs if r.table == "adult"}) == aim.SEEDS
    for run in runs:
        learners = aim_runs.LEARNERS if run.epsilon == 1 else ()
        assert run.version
        assert len(run.code) == 16
        assert run.settings == settings_of(aim_runs.BY_NAME[run.arm], learners), run.key
