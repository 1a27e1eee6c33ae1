"""Synthesizers from outside the package: any object with fit and sample, whatever it returns and whatever it reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from little import little

from kagemusha.attacks.campaign import Campaign
from kagemusha.attacks.game import Rules
from kagemusha.attacks.report import Attacked
from kagemusha.attacks.synthesis.outside import Outside
from kagemusha.attacks.synthesis.protocol import Maker
from kagemusha.errors import DataError, UsageError
from kagemusha.privacy.budget import Budget


class Copier:
    """Hands out the rows it was shown; `fit` returns nothing, as some do."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def fit(self, frame: Any) -> None:
        self.frame = frame

    def sample(self, rows: int) -> Any:
        kept = self.rng.integers(0, len(self.frame), rows)
        kept[: len(self.frame)] = np.arange(min(rows, len(self.frame)))
        return self.frame.iloc[kept].reset_index(drop=True)


class Shuffler(Copier):
    """Every column drawn alone; `fit` returns another object, as some do."""

    def fit(self, frame: Any) -> Any:
        super().fit(frame)
        return self

    def sample(self, rows: int) -> Any:
        common = self.frame[self.frame["a"] != "z"]  # nobody stands out
        return pd.DataFrame({name: self.rng.choice(common[name], rows) for name in common}).astype(common.dtypes)


def attacked(maker: Maker, trainings: int = 4, **more: Any) -> Attacked:
    chosen: dict[str, Any] = {"targets": ("selective",), "attacks": ("closest-record",), **more}
    return Campaign(**chosen, rules=Rules(trainings=trainings, references=2)).against(maker, little())


def test_a_copier_is_found_and_a_promise_it_makes_is_called_broken() -> None:
    found = attacked(Outside(Copier, name="copier"), 30)
    assert found.findings[0].accuracy.value == 1
    assert found.verdict.kind == "leaks"
    assert "no promise" in found.verdict.words
    promised = attacked(Outside(Copier, name="copier", promised=Budget(1.0, 1e-6)), 30)
    assert promised.verdict.kind == "broken"
    assert "ε = 1" in promised.verdict.words
    assert "too weak" in attacked(Outside(Shuffler), 4).verdict.words


class Reader:
    """Notes what kind of frame it was given."""

    seen: tuple[str, ...] = ()

    def fit(self, frame: Any) -> Reader:
        Reader.seen += (type(frame).__module__.split(".")[0],)
        self.frame = frame
        return self

    def sample(self, rows: int) -> Any:
        return self.frame[:rows] if not hasattr(self.frame, "slice") else self.frame.slice(0, rows)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_come_in_the_library_that_was_asked_for(library: str) -> None:
    Reader.seen = ()
    assert len(attacked(Outside(lambda _: Reader(), library=library)).findings) == 1
    assert set(Reader.seen) == {library}


WRONG: dict[str, tuple[Any, str]] = {
    "an array": (lambda frame, rows: frame.to_numpy()[:rows], "no table"),
    "nothing": (lambda frame, rows: None, "no table"),
    "a pair": (lambda frame, rows: (frame, frame), "no table"),
    "too few columns": (lambda frame, rows: frame.iloc[:, :2], "lacks column 'n'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_named_with_its_maker(name: str) -> None:
    sampled, words = WRONG[name]

    class Odd(Copier):
        def sample(self, rows: int) -> Any:
            return sampled(self.frame, rows)

    with pytest.raises(DataError, match=f"what odd made does not fit the schema: .*{words}"):
        attacked(Outside(Odd, name="odd"))


def test_objects_without_sample_and_unknown_libraries_are_refused() -> None:
    class Mute:
        def fit(self, frame: Any) -> None:
            pass

    with pytest.raises(UsageError, match="no sample"):
        attacked(Outside(lambda _: Mute(), name="mute"))
    with pytest.raises(UsageError, match="library"):
        Outside(Copier, library="spark")
