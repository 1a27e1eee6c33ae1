"""The generator behind `ctgan` and `dp-ctgan`: a network that turns noise and a wish into a record.

Samples without torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.generators.generator import Arrays
from kagemusha.generators.sampled import SampledGenerator, moderate
from kagemusha.schema.domain import Domain

TEMPERATURE = 0.2
"""Of the Gumbel softmax in training; only the largest entry counts when a record is drawn."""

_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class WrittenColumn:
    """How one column is written: a measured one as a place and one of `means`, a labelled one as a code (no means).

    `marks` is how many of a measured column's last entries stand for special values and for a missing one.
    """

    name: str
    size: int
    means: FloatArray
    scales: FloatArray
    values: FloatArray
    """For a measured column, the number every code of a value stands for, rising."""
    marks: int = 0

    @property
    def labelled(self) -> bool:
        """Whether the column has no numbers."""
        return not len(self.means)

    @property
    def hot(self) -> int:
        """Entries of which one is chosen."""
        return self.size if self.labelled else len(self.means) + self.marks

    @property
    def width(self) -> int:
        """Outputs of the network for this column."""
        return self.hot + (not self.labelled)

    def codes(self, place: FloatArray, chosen: IntArray) -> IntArray:
        """The codes that a place (unused for labels) and a chosen entry stand for."""
        if self.labelled:
            return chosen
        mode = np.minimum(chosen, len(self.means) - 1)
        drawn = self.means[mode] + self.scales[mode] * place
        codes: IntArray = np.searchsorted((self.values[1:] + self.values[:-1]) / 2, drawn).astype(np.int64)
        marked = chosen >= len(self.means)
        codes[marked] = self.size - self.marks + chosen[marked] - len(self.means)
        return codes


@dataclass(frozen=True, eq=False)
class GanGenerator(SampledGenerator):
    """Noise and a wished-for code of one labelled column, through residual layers, into places and chosen entries.

    `weights` holds, layer by layer, the matrix and the shift with batch normalisation folded in; the last one has no
    ramp.
    """

    kind: ClassVar[str] = "gan"
    domain: Domain
    total: float
    columns: Sequence[WrittenColumn]
    noise: int
    """Length of the noise."""
    conditions: FloatArray
    """How often each code of each labelled column is wished for, one after the other; sums to one. Empty: no wishes."""
    weights: Sequence[tuple[FloatArray, FloatArray]]

    def _draw(self, rows: int, rng: np.random.Generator) -> IntArray:
        codes = np.empty((rows, len(self.domain)), dtype=np.int64)
        for begin in range(0, rows, _BLOCK):
            block = codes[begin : begin + _BLOCK]
            self._decode(self._outputs(len(block), rng), block, rng)
        return codes

    def _outputs(self, rows: int, rng: np.random.Generator) -> FloatArray:
        """What the last layer says."""
        state = np.zeros((rows, self.noise + len(self.conditions)))
        state[:, : self.noise] = rng.standard_normal((rows, self.noise))
        if len(self.conditions):
            state[np.arange(rows), self.noise + rng.choice(len(self.conditions), rows, p=self.conditions)] = 1
        for matrix, shift in self.weights[:-1]:
            state = np.hstack([np.maximum(state @ matrix + shift, 0.0), state])
        matrix, shift = self.weights[-1]
        return np.asarray(state @ matrix + shift)

    def _decode(self, drawn: FloatArray, codes: IntArray, rng: np.random.Generator) -> None:
        at = 0
        for column in self.columns:
            place = drawn[:, at] if not column.labelled else np.zeros(len(drawn))
            logits = drawn[:, at + column.width - column.hot : at + column.width]
            chosen: IntArray = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1).astype(np.int64)
            codes[:, self.domain.axis(column.name)] = column.codes(np.tanh(place), chosen)
            at += column.width

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        meta = {
            "total": self.total,
            "noise": self.noise,
            "columns": [{"name": c.name, "size": c.size, "missing": c.marks} for c in self.columns],
        }
        arrays: dict[str, FloatArray] = {"wishes": self.conditions}
        for i, column in enumerate(self.columns):
            arrays |= {f"means.{i}": column.means, f"scales.{i}": column.scales, f"values.{i}": column.values}
        for i, (matrix, shift) in enumerate(self.weights):
            arrays |= {f"matrix.{i}": matrix, f"shift.{i}": shift}
        return meta, arrays

    @classmethod
    def from_arrays(cls, meta: Mapping[str, Any], arrays: Arrays) -> GanGenerator:
        """The generator `to_arrays` described; raises `ValueError` if the parts do not fit together."""
        columns = [
            WrittenColumn(str(c["name"]), int(c["size"]), *_flat(arrays, i), marks=int(c["missing"]))
            for i, c in enumerate(meta["columns"])
        ]
        for column in columns:
            n_values = 0 if column.labelled else column.size - column.marks
            if column.scales.shape != column.means.shape or column.values.shape != (n_values,) or column.size < 1:
                raise ValueError("the parts of a column do not fit together")
            if (np.diff(column.values) < 0).any():
                raise ValueError("the numbers of a column do not rise")
        noise, conditions = int(meta["noise"]), arrays["wishes"]
        labels = sum(column.size for column in columns if column.labelled)
        if noise < 1 or conditions.shape not in ((0,), (labels,)):
            raise ValueError("noise and wishes do not fit the columns")
        if len(conditions) and not (conditions.min() >= 0 and abs(float(conditions.sum()) - 1) < 1e-9):
            raise ValueError("the wishes are no shares of one whole")
        layers = sum(name.startswith("matrix.") for name in arrays)
        weights = [(arrays[f"matrix.{i}"], arrays[f"shift.{i}"]) for i in range(layers)]
        width = noise + len(conditions)
        for matrix, shift in weights:
            if matrix.ndim != 2 or matrix.shape[0] != width or shift.shape != (matrix.shape[1],):
                raise ValueError("the layers do not fit together")
            if not (moderate(matrix) and moderate(shift)):
                raise ValueError("a layer is not finite")
            width += matrix.shape[1]
        if not weights or weights[-1][1].shape != (sum(column.width for column in columns),):
            raise ValueError("the last layer does not fit the columns")
        domain = Domain(tuple(c.name for c in columns), tuple(c.size for c in columns))
        return cls(domain, float(meta["total"]), columns, noise, conditions, weights)


def _flat(arrays: Arrays, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    found = tuple(arrays[f"{part}.{i}"] for part in ("means", "scales", "values"))
    if any(array.ndim != 1 or not np.isfinite(array).all() for array in found):
        raise ValueError("the parts of a column must be lists of finite numbers")
    return found[0], found[1], found[2]
