"""Records of a file with what a classifier says about each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kagemusha.annotation.classifier import load_classifier
from kagemusha.sources.rawfile import open_file


def predict_file(data: Path, classifier: Path, out: Path) -> tuple[int, str]:
    """Write the records as CSV with the likeliest class and its share; returns how many there are, and the question."""
    import pyarrow as pa
    from pyarrow import csv

    judge = load_classifier(classifier)
    file = open_file(data, judge.schema.encoding)
    with file.reading() as (connection, table):
        chosen = ", ".join(f"{file.source(i)} AS v{i}" for i in range(len(file.names)))
        found = connection.sql(f"SELECT {chosen} FROM {table}").to_arrow_table().rename_columns(list(file.names))
    shares = judge.probabilities(found)
    name = judge.question
    while name in found.column_names:
        name += " (predicted)"
    found = found.append_column(name, pa.array(np.asarray(judge.classes)[shares.argmax(axis=1)]))
    found = found.append_column(f"{name}: share", pa.array(np.round(shares.max(axis=1), 4)))
    csv.write_csv(found, out)
    return found.num_rows, name
