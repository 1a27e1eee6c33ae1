"""`annotate` refuses what cannot work before a project is begun, and takes labels back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kagemusha.annotation.exchange import to_csv
from kagemusha.annotation.loop import Annotated
from kagemusha.annotation.project import Project, open_project

BASE = ("--label", "ill", "--classes", "no,yes")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "epsilon must be greater than 0"),
        (["--epsilon", "inf"], "epsilon (--epsilon) must be finite"),
        (["--delta", "0.5"], "--delta must be at most"),
        (["--delta", "0"], "delta must be greater than 0"),
        (["--labels", "0"], "labels must be at least 1"),
        (["--rounds", "0"], "rounds must be at least 1"),
        (["--held", "1"], "held must be"),
        (["--shared", "2"], "shared (--shared) must be"),
        (["--loop", "mst"], "loop must be one of aim, kage"),
        (["--judge", "jury"], "judge must be"),
        (["--ask", "me"], "must be one of bald"),
        (["--port", "70000"], "--port must be"),
        (["--classes", "no"], "classes (--classes) must name 2 to 9"),
        (["--classes", "no,unknown"], "buttons of their own"),
        (["--guideline", "missing.txt"], "missing.txt"),
        (["--import", "missing.json"], "missing.json"),
        (["--schema", "missing.toml"], "missing.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_one_line_and_no_project(run: Any, patients: Path, options: list[str], message: str) -> None:
    schema = [] if "--schema" in options else ["--schema", str(patients.with_suffix(".toml"))]
    done = run("annotate", str(patients), *schema, *BASE, *options, "--out", str(patients.parent / "labels"), code=None)
    assert done.returncode not in (0, 1)
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (patients.parent / "labels").exists()


def test_labels_are_imported_into_a_project_that_exists(run: Any, patients: Path) -> None:
    folder = patients.parent / "labels"
    command = ["annotate", str(patients), "--schema", str(patients.with_suffix(".toml")), *BASE, "--out", str(folder)]
    labels = patients.parent / "labels.csv"
    labels.write_text("task,round,who,answer,stands,settles,age\n1,1,Ada,yes,yes,,30\n")
    done = run(*command, "--import", str(labels), code=None)
    assert done.returncode not in (0, 1)
    assert "no labelling project" in done.stderr

    settings = Annotated(loop="kage", rounds=5, judge="forest", held=0.1, batch=5, ahead=25)
    store = open_project(folder, Project("ill", ("no", "yes"), "", 1.0, 1e-9, settings, 0.1))
    store.begin(1, 1, [([3], [{"column": "age", "value": "30", "unusual": False}], False, 1)])
    assert "1 new labels" in run(*command, "--import", str(labels)).stdout
    assert to_csv(store) == labels.read_text()
    assert "0 new labels" in run(*command, "--import", str(labels)).stdout
    assert "begun with another" in run(*command, "--labels", "7", "--import", str(labels), code=2).stderr
