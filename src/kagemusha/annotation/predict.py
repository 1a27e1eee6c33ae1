"""Records of a file with what a classifier says about each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kagemusha.annotation.classifier import Classifier, load_classifier
from kagemusha.errors import UsageError
from kagemusha.files import TABLE_FILES
from kagemusha.schema.related import Related
from kagemusha.sources.families import Family
from kagemusha.sources.rawfile import open_file
from kagemusha.sources.several import open_related


def predict_file(data: Path, classifier: Path, out: Path) -> tuple[int, str]:
    """Write the records as CSV with the likeliest class and its share; returns how many there are, and the question."""
    import pyarrow as pa
    from pyarrow import csv

    judge = load_classifier(classifier)
    if judge.related is not None:
        return _predict_persons(judge, judge.related, data, out)
    if not data.is_file():
        raise UsageError(f"{data}: a CSV or Parquet file of records is needed")
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


def _predict_persons(judge: Classifier, related: Related, data: Path, out: Path) -> tuple[int, str]:
    """The same for persons with their rows: who, and the likeliest class."""
    import pyarrow as pa
    from pyarrow import csv

    tables = open_related(data, related.apart if data.is_dir() and not _long(data, related) else related)
    shares = judge.of_codes(Family(related).records(tables))
    root = related.root
    who = sorted(tables.linked[root.name].names.items(), key=lambda named: named[1])
    found = {
        root.key: pa.array([name for name, _ in who]),
        judge.question: pa.array(np.asarray(judge.classes)[shares.argmax(axis=1)]),
        f"{judge.question}: share": pa.array(np.round(shares.max(axis=1), 4)),
    }
    csv.write_csv(pa.table(found), out)
    return len(who), judge.question


def _long(data: Path, related: Related) -> bool:
    """Whether a folder lacks a file of the persons: they are in that of their rows then."""
    name = related.root.name
    return related.root.first_of is not None and not any((data / f"{name}{kind}").is_file() for kind in TABLE_FILES)
