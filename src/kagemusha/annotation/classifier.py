"""The classifier that labels of doubles leave: trees as plain numbers in a JSON file; reading it executes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kagemusha.annotation.judges import Forest, ForestTrainer, RecordVectors
from kagemusha.arrays import FloatArray, IntArray
from kagemusha.encoding import Encoder
from kagemusha.encoding.frames import open_frame
from kagemusha.errors import DataError, KagemushaError
from kagemusha.files import parse_json, read_regular
from kagemusha.schema import Schema
from kagemusha.schema.declared import read_declared
from kagemusha.schema.related import Related
from kagemusha.sources.families import Family

FORMAT = "kagemusha classifier 1"
MOST_BYTES = 100 << 20


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in arrays: a node sends a record on to the left or right one, or, at a leaf, says shares of classes."""

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    shares: FloatArray

    def __post_init__(self) -> None:
        nodes = len(self.left)
        inner = self.left >= 0
        own = np.arange(nodes)
        if not nodes or not all(len(part) == nodes for part in (self.right, self.feature, self.threshold, self.shares)):
            raise ValueError
        # a node's successors come after it, so that every way ends
        for to in (self.left, self.right):
            if not ((to[inner] > own[inner]) & (to[inner] < nodes)).all():
                raise ValueError
        if not (np.isfinite(self.shares).all() and (self.shares >= 0).all() and (self.feature[inner] >= 0).all()):
            raise ValueError

    def __call__(self, vectors: NDArray[np.float32]) -> FloatArray:
        """Shares of classes for each record."""
        at = np.zeros(len(vectors), dtype=np.int64)
        while (going := np.flatnonzero(self.left[at] >= 0)).size:
            node = at[going]
            smaller = vectors[going, self.feature[node]] <= self.threshold[node]
            at[going] = np.where(smaller, self.left[node], self.right[node])
        return self.shares[at]


@dataclass(frozen=True, eq=False)
class Classifier:
    """What doubles and the labels that people gave them say about any record of the schema."""

    question: str
    classes: tuple[str, ...]
    schema: Schema
    trees: Sequence[Tree]
    related: Related | None = None
    """Where a record is a person with the last rows: the tables."""

    def __repr__(self) -> str:
        return f"Classifier({self.question!r}: {', '.join(self.classes)})"

    def probabilities(self, table: Any) -> FloatArray:
        """For each record of a frame the share of each class; columns that the schema does not know are left aside."""
        opened = open_frame(table)
        known = [name for name in opened.columns if name in self.schema.names]
        return self.of_codes(Encoder(self.schema).encode_columns(opened.select(known)))

    def predict(self, table: Any) -> NDArray[Any]:
        """The likeliest class of each record of a frame."""
        likeliest: NDArray[Any] = np.asarray(self.classes)[self.probabilities(table).argmax(axis=1)]
        return likeliest

    def of_codes(self, columns: Sequence[Any]) -> FloatArray:
        """The same for records in codes."""
        vectors = RecordVectors.of(self.schema)(columns).astype(np.float32)
        return np.asarray(sum(tree(vectors) for tree in self.trees) / len(self.trees))

    def save(self, path: Path) -> None:
        """As JSON; `load_classifier` reads it."""
        trees = [
            {
                "left": tree.left.tolist(),
                "right": tree.right.tolist(),
                "feature": tree.feature.tolist(),
                "threshold": tree.threshold.tolist(),
                "shares": tree.shares.tolist(),
            }
            for tree in self.trees
        ]
        body = {"format": FORMAT, "question": self.question, "classes": list(self.classes)}
        several = {} if self.related is None else {"tables": self.related.dumps()}
        path.write_text(json.dumps({**body, **several, "schema": self.schema.dumps(), "trees": trees}), "utf-8")


def trained(question: str, classes: Sequence[str], schema: Schema, codes: IntArray, labels: IntArray) -> Classifier:
    """A forest trained on labelled doubles; two classes at least must occur. Needs scikit-learn."""
    declared = Schema(schema.coded, encoding=schema.encoding)
    vectors = RecordVectors.of(declared)(list(codes.T))
    judge = ForestTrainer()(vectors, labels, len(classes), np.random.default_rng(1))
    assert isinstance(judge, Forest)
    return Classifier(question, tuple(classes), declared, [_tree(one, judge) for one in judge.members])


def _tree(member: Any, forest: Forest) -> Tree:
    tree = member.tree_
    shares = np.zeros((tree.node_count, forest.count))
    own = tree.value[:, 0, :]
    shares[:, forest.classes] = own / own.sum(axis=1, keepdims=True)
    return Tree(
        tree.children_left.astype(np.int64),
        tree.children_right.astype(np.int64),
        tree.feature.astype(np.int64),
        tree.threshold,
        shares,
    )


def _tables(given: Mapping[str, Any], schema: Schema) -> Related | None:
    """The tables whose persons' records it judges; `ValueError` where these are other records."""
    if "tables" not in given:
        return None
    related = read_declared(given["tables"])
    if not isinstance(related, Related) or Schema(Family(related).schema.coded).digest() != schema.digest():
        raise ValueError
    return related


def load_classifier(path: str | PathLike[str]) -> Classifier:
    """A classifier from its file, or from the folder of a labelling project. Executes nothing."""
    where = Path(path)
    where = where / "classifier.json" if where.is_dir() else where
    try:
        given = parse_json(read_regular(where, MOST_BYTES, follow=True).decode("utf-8"))
        if given["format"] != FORMAT:
            raise ValueError
        schema = Schema.loads(given["schema"])
        classes = tuple(map(str, given["classes"]))
        trees = [
            Tree(
                np.array(tree["left"], dtype=np.int64),
                np.array(tree["right"], dtype=np.int64),
                np.array(tree["feature"], dtype=np.int64),
                np.array(tree["threshold"], dtype=np.float64),
                np.array(tree["shares"], dtype=np.float64).reshape(-1, len(classes)),
            )
            for tree in given["trees"]
        ]
        width = sum(features.table.shape[1] for features in RecordVectors.of(schema).features)
        if not trees or any(tree.feature.max() >= width for tree in trees):
            raise ValueError
        return Classifier(str(given["question"]), classes, schema, trees, _tables(given, schema))
    except OSError as error:
        raise DataError(f"{where}: {error.strerror or 'cannot be read'}") from None
    except (KagemushaError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise DataError(f"{where}: this is no classifier that `kagemusha annotate` wrote, or it is damaged") from None
