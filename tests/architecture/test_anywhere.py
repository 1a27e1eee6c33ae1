"""Notebooks without widgets, and systems that lack what only Linux has."""

from __future__ import annotations

import os
from pathlib import Path

import nbclient
import nbformat
import pandas as pd
import pytest

from kagemusha.folder.stream import cores

NOTEBOOK = """
import kagemusha as kg
assert "ipywidgets" not in __import__("sys").modules
schema = kg.propose("people.csv")
schema.save("people.toml")
model = kg.fit("independent", "people.csv", 1.0, schema="people.toml", ledger="l.db", allow_derived=True)
kg.publish(model, "release", ledger="l.db")
print([check for check in kg.verify("release") if not check.passed])
"""


def test_a_notebook_without_widgets_reads_writes_and_verifies(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20 + i % 50 for i in range(300)], "sex": ["FM"[i % 2] for i in range(300)]})
    frame.to_csv(tmp_path / "people.csv", index=False)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    client = nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    done = client.execute()
    (cell,) = done.cells
    said = "".join(out.get("text", "") for out in cell.outputs)
    assert said.strip().endswith("[]"), said


def test_a_system_that_does_not_tell_its_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == (os.cpu_count() or 1)
