"""DataSynthesizer as a program for `--command`: it reads a CSV file and writes one (in its own environment).

    kagemusha reproduce mia --only datasynthesizer --command "PYTHON datasynthesizer_csv.py {in} {out} {rows} {seed}"

Texts are categories, whole numbers as it takes them by default, and the domain is what occurs in the file, also by
default. Two parents, ε = 1. Its mutual information joins texts row by row and takes minutes; here the same number is
worked out from counts of whole numbers (`--check` compares both on the table).
"""

import argparse
import os
import sys
import tempfile
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from DataSynthesizer.lib import PrivBayes
from DataSynthesizer.lib.utils import mutual_information

_CODES: dict[tuple[int, str], np.ndarray] = {}


def fast(child: pd.Series, parents: pd.DataFrame) -> float:
    """Mutual information of a column and several together, in nats."""
    columns = [_coded(one) for one in (child, *(parents[name] for name in parents))]
    sizes = [int(one.max()) + 1 for one in columns]
    counts = np.bincount(np.ravel_multi_index(columns, sizes), minlength=int(np.prod(sizes)))
    table = counts.reshape(sizes[0], -1) / len(child)
    alone = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    there = table > 0
    return float((table[there] * np.log(table[there] / alone[there])).sum())


def _coded(column: pd.Series) -> np.ndarray:
    key = (len(column), str(column.name))
    if key not in _CODES:
        _CODES[key] = pd.factorize(column)[0]
    return _CODES[key]


class Alone:
    """A pool of one: the work is done here, so that what is remembered stays."""

    def __enter__(self) -> "Alone":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def map(self, work, items):
        return [work(item) for item in items]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("read")
    parser.add_argument("write")
    parser.add_argument("rows", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    frame = pd.read_csv(given.read)
    if given.check:
        names = list(frame.columns)
        text = frame.astype(str)
        for child, *parents in ((names[0], names[1]), (names[-1], names[3], names[5]), (names[8], names[0], names[-2])):
            print(child, parents, fast(text[child], text[parents]), mutual_information(text[child], text[parents]))
        return
    PrivBayes.mutual_information, PrivBayes.Pool = fast, Alone
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        description = os.path.join(folder, "description.json")
        describer = DataDescriber()
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=given.read,
            epsilon=1.0,
            k=2,
            attribute_to_is_categorical=dict.fromkeys(texts, True),
            attribute_to_is_candidate_key=dict.fromkeys(frame.columns, False),
            attribute_to_datatype=dict.fromkeys(texts, "String"),
            seed=given.seed,
        )
        describer.save_dataset_description_to_file(description)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(given.rows, description, seed=given.seed)
        generator.synthetic_dataset[list(frame.columns)].to_csv(given.write, index=False)


if __name__ == "__main__":
    main()
