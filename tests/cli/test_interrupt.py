"""Ctrl-C says that it stopped, whatever the libraries on the way make of it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from kagemusha.cli import main
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
