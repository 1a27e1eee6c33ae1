"""Classifiers with several versions: a small network with units left out, or a forest.

Trained on labelled doubles alone. A judge *scores* private records inside the Curator, so a record's votes must depend
on that record alone. The network's weights and activations are therefore rounded to a lattice on which products and
sums are exact in doubles, in any order and any batch; which units are left out is drawn once for all records; there is
no batch normalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kagemusha.annotation.votes import votes_of, whole_votes
from kagemusha.arrays import Codes, FloatArray, IntArray
from kagemusha.errors import UsageError
from kagemusha.schema import Schema
from kagemusha.schema.features import STEPS, Features

HIDDEN = (512, 256, 128)
"""Units of the network's layers, as in the paper."""

DROPOUT = 0.25
VERSIONS = 20

WEIGHT, MOST_WEIGHT = 2.0**16, 8.0
ACTIVE, MOST_ACTIVE = 2.0**10, 2.0**8
"""Steps and limits of the lattice: 19 bits times 18 bits, 512 of them, stay below 2⁵³."""

_ROWS = 1 << 11


class Judge(Protocol):
    """A trained classifier."""

    def votes(self, vectors: FloatArray) -> IntArray:
        """Votes of every version on every record: (versions, records, classes), in units of 2⁻¹²."""
        ...


class Trainer(Protocol):
    """Makes judges."""

    def __call__(self, vectors: FloatArray, labels: IntArray, classes: int, rng: np.random.Generator) -> Judge:
        """A judge trained on these records; two classes at least must occur."""
        ...


@dataclass(frozen=True, eq=False)
class RecordVectors:
    """Records as judges see them: labels one-hot, numbers between −1 and 1, all multiples of 2⁻¹⁰."""

    features: Sequence[Features]

    @classmethod
    def of(cls, schema: Schema) -> RecordVectors:
        """The vectors of a schema's modelled columns."""
        return cls([Features.of(column) for column in schema.modelled])

    def __call__(self, columns: Sequence[Codes]) -> FloatArray:
        """Codes, column by column → one row for each record."""
        parts = [f.table[codes] / STEPS for f, codes in zip(self.features, columns, strict=True)]
        return np.concatenate(parts, axis=1, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class JudgeNetwork:
    """Layers on the lattice, and for each version the units that stay."""

    layers: Sequence[tuple[FloatArray, FloatArray]]
    kept: Sequence[FloatArray]
    """For every hidden layer, 0 or 1 for each unit of each version."""

    @classmethod
    def of(
        cls,
        layers: Sequence[tuple[FloatArray, FloatArray]],
        *,
        dropout: float,
        versions: int,
        rng: np.random.Generator,
    ) -> JudgeNetwork:
        """Rounded to the lattice; what stays is scaled up in the weights of the next layer."""
        rounded = []
        for depth, (matrix, shift) in enumerate(layers):
            scale = 1.0 if depth == 0 else 1 / (1 - dropout)
            rounded.append(
                (
                    np.rint(np.clip(matrix * scale, -MOST_WEIGHT, MOST_WEIGHT) * WEIGHT) / WEIGHT,
                    np.rint(np.clip(shift, -MOST_ACTIVE, MOST_ACTIVE) * WEIGHT) / WEIGHT,
                )
            )
        kept = [(rng.random((versions, len(shift))) >= dropout).astype(np.float64) for _, shift in layers[:-1]]
        return cls(rounded, kept)

    def votes(self, vectors: FloatArray) -> IntArray:
        """Exact sums, then a softmax by table."""
        versions = len(self.kept[0])
        logits = np.empty((versions, len(vectors), len(self.layers[-1][1])), dtype=np.int64)
        for begin in range(0, len(vectors), _ROWS):
            rows = slice(begin, begin + _ROWS)
            first = _active(vectors[rows] @ self.layers[0][0] + self.layers[0][1])
            for version in range(versions):
                state = first * self.kept[0][version]
                for (matrix, shift), kept in zip(self.layers[1:-1], self.kept[1:], strict=True):
                    state = _active(state @ matrix + shift) * kept[version]
                matrix, shift = self.layers[-1]
                logits[version, rows] = np.rint(np.clip(state @ matrix + shift, -64, 64) * 256)
        return votes_of(logits)


def _active(state: FloatArray) -> FloatArray:
    return np.asarray(np.rint(np.clip(state, 0.0, MOST_ACTIVE) * ACTIVE) / ACTIVE)


@dataclass(frozen=True)
class NetworkTrainer:
    """A network of the paper's size; needs torch. `epochs` passes over the labelled records."""

    hidden: tuple[int, ...] = HIDDEN
    dropout: float = DROPOUT
    versions: int = VERSIONS
    epochs: int = 40
    rate: float = 1e-3

    def __call__(self, vectors: FloatArray, labels: IntArray, classes: int, rng: np.random.Generator) -> Judge:
        """Trained from scratch."""
        from kagemusha.neural.classifier import train_classifier

        layers = train_classifier(
            vectors,
            labels,
            classes,
            hidden=self.hidden,
            dropout=self.dropout,
            epochs=self.epochs,
            rate=self.rate,
            rng=rng,
        )
        return JudgeNetwork.of(layers, dropout=self.dropout, versions=self.versions, rng=rng)


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of a forest, or the members of any ensemble that has `estimators_`: each is a version."""

    members: Sequence[object]
    classes: IntArray
    """Which class each share of a member belongs to."""
    count: int

    def votes(self, vectors: FloatArray) -> IntArray:
        """Shares of the leaves; comparisons of one record with thresholds, so nothing else matters."""
        shares = np.zeros((len(self.members), len(vectors), self.count))
        plain = vectors.astype(np.float32)
        for share, member in zip(shares, self.members, strict=True):
            share[:, self.classes] = member.predict_proba(plain)  # type: ignore[attr-defined]
        return whole_votes(shares)


@dataclass(frozen=True)
class ForestTrainer:
    """A forest; needs scikit-learn and no torch."""

    trees: int = 60
    leaf: int = 2

    def __call__(self, vectors: FloatArray, labels: IntArray, classes: int, rng: np.random.Generator) -> Judge:
        """Trained from scratch."""
        try:
            from sklearn.ensemble import RandomForestClassifier
        except ImportError:
            raise UsageError("this needs scikit-learn: pip install 'kagemusha[annotate]'") from None
        forest = RandomForestClassifier(
            self.trees, min_samples_leaf=self.leaf, random_state=int(rng.integers(2**31)), n_jobs=1
        ).fit(vectors.astype(np.float32), labels)
        return Forest(forest.estimators_, np.asarray(forest.classes_, dtype=np.int64), classes)


def trainer(name: str) -> Trainer:
    """The trainer of that name."""
    if name == "network":
        return NetworkTrainer()
    if name == "forest":
        return ForestTrainer()
    raise UsageError(f"judge must be network or forest, got {name!r}")


def prediction(votes: IntArray) -> IntArray:
    """The class with most votes."""
    return np.asarray(votes.sum(axis=0).argmax(axis=1))
