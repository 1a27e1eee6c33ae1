"""Ctrl-C says that it stopped, whatever the libraries on the way make of it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import NoReturn

import pytest

from kagemusha.cli import main
from kagemusha.cli.interrupt import CtrlC, Stopped, stopping
from kagemusha.cli.output import progress_bar
from kagemusha.errors import DataError


@pytest.fixture(autouse=True)
def _as_it_was():
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(then: BaseException | None) -> None:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except BaseException:
        if then is None:
            raise
        raise then from None


@pytest.mark.parametrize(
    "then", [None, DataError("the file is damaged"), AttributeError("partially initialized module"), OSError(5, "x")]
)
def test_a_stop_is_told_as_a_stop(monkeypatch, capsys, then):
    monkeypatch.setattr("kagemusha.cli.app.app", lambda: interrupted(then))
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    told = capsys.readouterr().err
    assert "stopped" in told
    assert "damaged" not in told


def test_errors_without_a_stop_are_told_as_they_are(monkeypatch, capsys):
    def fails() -> None:
        raise DataError("the file is damaged")

    monkeypatch.setattr("kagemusha.cli.app.app", fails)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == DataError.exit_code
    assert "the file is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("raised", [Stopped, KeyboardInterrupt])
def test_a_stop_that_was_lost_is_raised_by_the_next_report_of_progress(raised):
    CtrlC(raised).install()
    with progress_bar() as progress:
        progress("before", 0.1)
        with contextlib.suppress(BaseException):  # as a callback from compiled code does
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        with pytest.raises(raised):
            progress("after", 0.2)


@pytest.mark.parametrize("then", [None, DataError("the file is damaged"), RuntimeError("Query interrupted")])
def test_work_that_is_stopped_leaves_by_its_own_words(then):
    def leave() -> NoReturn:
        raise SystemExit(130)

    with pytest.raises(SystemExit) as left, stopping(leave):
        interrupted(then)
    assert left.value.code == 130
    with pytest.raises(DataError), stopping(leave):
        raise DataError("the file is damaged")
