"""What people get for their labels: a file of them, a classifier that can be used, a page that sums them up."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kagemusha as kg
from annotation.people import SCHEMA, asked, oracle, table
from command import Run
from kagemusha.annotation.classifier import Classifier, trained
from kagemusha.annotation.incoming import take_labels
from kagemusha.annotation.judges import ForestTrainer, RecordVectors
from kagemusha.annotation.results import CLASSIFIER, LABELS, SUMMARY, write_results
from kagemusha.annotation.store import Store
from kagemusha.encoding import Encoder
from kagemusha.errors import DataError
from kagemusha.web.access import cookie_name


def codes(rows: int = 400, seed: int = 0) -> np.ndarray:
    return Encoder(SCHEMA).encode(table(rows, seed))


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    found = codes()
    return trained("ill", ("no", "yes"), SCHEMA, found, oracle(found))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Forty doubles, labelled by two people who agree; every fifth is held out."""
    store = asked(tmp_path, 1)
    drawn = codes(40, 1)
    shown = [[{"column": "age", "value": str(row[0]), "unusual": False}] for row in drawn]
    tasks = [(row.tolist(), card, i % 5 == 0, 2) for i, (row, card) in enumerate(zip(drawn, shown, strict=True))]
    store.begin(2, 40, tasks)
    store.ask(2, list(range(40)))
    truth = oracle(drawn)
    for who in ("Ada", "=Bob"):
        for at in range(40):
            store.label(at + 2, who, str(truth[at]), f"key-{who}-{at:03d}", queued=False)
    return store


def test_a_saved_classifier_says_what_the_forest_said(classifier: Classifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "c.json")
    again = kg.load_classifier(tmp_path / "c.json")
    found, vectors = codes(300, 5), RecordVectors.of(SCHEMA)
    forest = ForestTrainer()(vectors(list(codes().T)), oracle(codes()), 2, np.random.default_rng(1))
    shares = np.mean([m.predict_proba(vectors(list(found.T)).astype(np.float32)) for m in forest.members], axis=0)  # type: ignore[attr-defined]
    assert np.allclose(again.of_codes(list(found.T)), shares, atol=1e-12)
    frame = table(300, 5).to_pandas().assign(note="not in the schema")
    assert (again.predict(frame) == np.array(["no", "yes"])[shares.argmax(axis=1)]).all()
    assert (again.predict(frame) == np.array(["no", "yes"])[oracle(found)]).mean() > 0.95


def broken(what: str, given: dict[str, Any]) -> str:
    tree = given["trees"][0]
    match what:
        case "a way without an end":
            tree["left"][0] = 0
        case "a node that is not there":
            tree["right"][0] = 10**6
        case "a feature that is not there":
            tree["feature"][0] = 999
        case "not numbers":
            tree["threshold"][0] = "__import__('os')"
        case "lists of other lengths":
            tree["shares"] = tree["shares"][:-1]
        case "no trees":
            given["trees"] = []
        case "another format":
            given["format"] = "pickle"
        case "no schema":
            given["schema"] = "nonsense"
        case "no JSON":
            return "\x80\x04."
    return json.dumps(given)


@pytest.mark.parametrize(
    "what",
    [
        *("a way without an end", "a node that is not there", "a feature that is not there", "not numbers"),
        *("lists of other lengths", "no trees", "another format", "no schema", "no JSON"),
    ],
)
def test_a_damaged_classifier_is_refused_in_a_line(what: str, classifier: Classifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "c.json")
    text = broken(what, json.loads((tmp_path / "c.json").read_text()))
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError, match="no classifier"):
        kg.load_classifier(tmp_path / "c.json")


def test_the_folder_holds_what_people_worked_for(store: Store, tmp_path: Path) -> None:
    assert write_results(store, SCHEMA, tmp_path, promise="ε = 1") == [LABELS, CLASSIFIER, SUMMARY]
    rows = list(csv.DictReader(io.StringIO((tmp_path / LABELS).read_text(), newline="")))
    assert len(rows) == 80
    assert {row["who"] for row in rows} == {"Ada", "'=Bob"}
    assert all(row["when"].endswith("+00:00") for row in rows)
    assert take_labels(store, (tmp_path / LABELS).read_text()) == 0, "our own labels change nothing"
    page = (tmp_path / SUMMARY).read_text()
    assert "80, of 40 doubles" in page
    assert "of 8 random doubles that were held out" in page
    assert "40 of 40 doubles that several people saw got the same label" in page
    assert "ε = 1" in page
    drawn = codes(200, 9)
    right = kg.load_classifier(tmp_path).of_codes(list(drawn.T)).argmax(axis=1) == oracle(drawn)
    assert right.mean() > 0.7


def test_without_two_classes_there_is_no_classifier_and_the_page_says_so(tmp_path: Path) -> None:
    store = asked(tmp_path)
    store.label(1, "Ada", "1", "key-000001")
    assert write_results(store, SCHEMA, tmp_path) == [LABELS, SUMMARY]
    assert "there is no classifier yet" in (tmp_path / SUMMARY).read_text()


def test_labels_that_settle_come_back_as_nothing_new(tmp_path: Path) -> None:
    store = asked(tmp_path, needed=2)
    store.label(1, "Ada", "1", "key-000001")
    store.label(1, "Bob", "0", "key-000002", queued=False)
    store.settle(1, "Eve", "1", "key-000003")
    write_results(store, SCHEMA, tmp_path)
    assert take_labels(store, (tmp_path / LABELS).read_text()) == 0


def test_predict_from_the_command_line(run: Run, classifier: Classifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "classifier.json")
    table(50, 3).to_pandas().to_csv(tmp_path / "new.csv", index=False)
    words = ["annotate", "predict", str(tmp_path / "new.csv"), "--classifier", str(tmp_path)]
    said = run(*words, "--out", str(tmp_path / "out.csv"))
    assert "50 records with ill" in said.stdout
    found = pd.read_csv(tmp_path / "out.csv")
    assert (found["ill"] == classifier.predict(table(50, 3))).all()
    assert found["ill: share"].between(0.5, 1).all()
    again = run(*words, "--out", str(tmp_path / "out.csv"), code=None)
    assert again.returncode != 0
    assert "already exists" in again.stderr


def test_two_projects_in_one_browser_have_cookies_of_their_own() -> None:
    one, two = (cookie_name((f"127.0.0.1:{port}", f"localhost:{port}")) for port in (8931, 8932))
    assert one != two
    assert one == cookie_name(("127.0.0.1:8931",))
