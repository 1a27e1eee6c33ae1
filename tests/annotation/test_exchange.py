"""Labels out and back in, in three forms, and files that are none of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagemusha.annotation.exchange import label_studio_config, plain, safe, to_csv, to_json, to_label_studio
from kagemusha.annotation.incoming import take_labels
from kagemusha.annotation.store import Store
from kagemusha.errors import DataError

from .people import asked, project


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return asked(tmp_path)


def standing(store: Store) -> list[tuple[int, str, str, bool]]:
    return [(s.task, s.who, s.answer, s.final) for s in store.said()]


@pytest.mark.parametrize("write", [to_csv, to_json, to_label_studio])
def test_there_and_back(tmp_path: Path, write: Callable[[Store], str]) -> None:
    store = asked(tmp_path, needed=2)
    store.label(1, "=Ada()", "1", "key-000001")
    store.label(2, "Ada", "impossible", "key-000002")
    store.label(2, "Bob", "0", "key-000003")
    store.settle(2, "Eve", "1", "key-000004")
    text = write(store)
    other = asked(tmp_path / "other", needed=2)
    assert take_labels(other, text) == 4
    assert standing(other) == standing(store)
    assert take_labels(other, text) == 0, "the same file again brings nothing new"
    assert write(other) == text or write is to_json, "times of labels are those of the import"


def test_label_studio_gets_what_waits_for_a_label_too(store: Store) -> None:
    store.label(1, "Ada", "1", "key-000001")
    tasks = json.loads(to_label_studio(store))
    assert len(tasks) == 12
    assert sum(bool(task["annotations"]) for task in tasks) == 1
    assert tasks[3]["data"] == {"text": "age: 3\nward: =1+1", "kagemusha_task": 4}
    assert '<Choice value="yes"/>' in label_studio_config(["no", "yes"])


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '[{"data": {}, "annotations": [{"result": [{"type": "choices", "value": {"choices": '
        '["no"]}}]}]}]',
     "3", '{"labels": [1]}', "a,b\n1,2\n", "task,round,who,answer,stands,settles\n1,1\n", "\x00", '{"labels": {"a": '
         '1}}',
     "task,round,who,answer,stands,settles\nx,1,Ada,no,no,\n"],
)  # fmt: skip
def test_other_files_are_no_labels(store: Store, text: str) -> None:
    with pytest.raises(DataError, match="our"):
        take_labels(store, text)
    assert store.said() == []


def label(task: int = 1, word: str = "yes", text: str = "age: 0\nward: =1+1") -> str:
    value = {"type": "choices", "value": {"choices": [word]}}
    data = {"kagemusha_task": task, "text": text}
    return json.dumps([{"data": data, "annotations": [{"result": [value], "completed_by": 7}]}])


def test_an_annotation_of_label_studio_is_a_label(store: Store) -> None:
    assert take_labels(store, label()) == 1
    assert standing(store) == [(1, "Label Studio 7", "1", False)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (label(word="maybe"), "none of the classes"),
        (label(task=99), "not in this project"),
        (label(text="age: 7"), "another one in this project"),
    ],
)
def test_a_wrong_label_spoils_the_whole_file(store: Store, text: str, message: str) -> None:
    both = json.dumps([*json.loads(label()), *json.loads(text)])
    with pytest.raises(DataError, match=message):
        take_labels(store, both)
    assert store.said() == [], "all or nothing"


@given(st.text(max_size=12))
def test_a_safe_text_can_be_read_back(text: str) -> None:
    assert plain(safe(text)) == text
    assert not safe(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n")) or float(text) is not None


def test_no_class_may_be_called_like_a_button(tmp_path: Path) -> None:
    from kagemusha.annotation.project import Project
    from kagemusha.errors import UsageError

    from .people import settings

    with pytest.raises(UsageError, match="buttons of their own"):
        Project("ill", ("no", "unknown"), "", 1.0, 1e-6, settings(), 0.0)
    project(tmp_path)
