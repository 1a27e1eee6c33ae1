"""Rows as points: the space in which distances, means and covariances are taken.

The paper does not say which; it decides results. Expansion: `codes` gives a category its code (0, 1, 2, …) and a number
its value; `onehot` gives a category one coordinate per label. Scale: `raw` leaves them so, `minmax` puts every
coordinate of the real table between 0 and 1, `sd` divides by its standard deviation. A value that may be missing has a
coordinate of its own that says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from kagemusha.arrays import Codes, FloatArray
from kagemusha.attacks.table import GameTable, PlayedDoubles, SameTable
from kagemusha.errors import UsageError
from kagemusha.schema import Modelled

EXPANSIONS = ("codes", "onehot")
SCALES = ("raw", "minmax", "sd")


@dataclass(frozen=True)
class Space:
    """Which features rows have; `without` leaves columns out."""

    expansion: str = "onehot"
    scale: str = "sd"
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.expansion not in EXPANSIONS:
            raise UsageError(f"a space must be one of {', '.join(EXPANSIONS)}, got {self.expansion!r}")
        if self.scale not in SCALES:
            raise UsageError(f"a scale must be one of {', '.join(SCALES)}, got {self.scale!r}")
        object.__setattr__(self, "without", tuple(self.without))

    @property
    def name(self) -> str:
        """A short name, such as onehot/sd or codes/raw-fnlwgt|age."""
        left_out = "|".join(re.sub(r"([\\|])", r"\\\1", name) for name in self.without)
        return f"{self.expansion}/{self.scale}" + (f"-{left_out}" if left_out else "")

    @classmethod
    def named(cls, text: str) -> Space:
        """The space of a name."""
        expansion, _, rest = text.partition("/")
        scale, _, left_out = rest.partition("-")
        names = re.findall(r"(?:[^\\|]|\\.)+", left_out)
        return cls(expansion, scale or "sd", tuple(re.sub(r"\\(.)", r"\1", name) for name in names))


class Lens:
    """A space fitted to a table: how many coordinates each column has, and what is scaled by how much."""

    def __init__(self, space: Space, table: GameTable) -> None:
        unknown = [name for name in space.without if name not in table.schema.domain]
        if unknown:
            raise UsageError(f"no column named {unknown[0]!r}; columns are {', '.join(table.schema.domain.names)}")
        self.space = space
        self.modelled: Sequence[Modelled] = table.schema.modelled
        plain = [column_features(column, space.expansion) for column in self.modelled]
        self.widths = [features.shape[1] for features in plain]
        self.axes = [i for i, c in enumerate(self.modelled) if c.name not in space.without]
        if not self.axes:
            raise UsageError("a space without columns has no distances")
        self._plain = plain
        self._moments: WeakKeyDictionary[PlayedDoubles, tuple[FloatArray, FloatArray]] = WeakKeyDictionary()
        shift, scale = [], []
        for i in self.axes:
            counts = np.bincount(table.codes[:, i], minlength=len(plain[i])).astype(np.float64)
            low, high = _scaling(plain[i], counts / counts.sum(), space.scale)
            shift.append(low)
            scale.append(high)
        self._shift, self._scale = np.concatenate(shift), np.concatenate(scale)

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return len(self._shift)

    @cached_property
    def tables(self) -> list[FloatArray]:
        """For every column of the space the scaled coordinates of each code."""
        found, at = [], 0
        for i in self.axes:
            end = at + self.widths[i]
            found.append((self._plain[i] - self._shift[at:end]) / self._scale[at:end])
            at = end
        return found

    def features(self, doubles: PlayedDoubles) -> FloatArray:
        """The rows as points."""
        if doubles.codes is not None:
            return self.of_codes(doubles.codes)
        if doubles.values is None:
            raise UsageError("doubles without rows")
        values = self._expanded(doubles)
        return np.asarray((values - self._shift) / self._scale)

    def moments(self, doubles: PlayedDoubles) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the rows, worked out once for all targets and statistics that ask."""
        found = self._moments.get(doubles)
        if found is None:
            found = self._moments[doubles] = moments(self.features(doubles))
        return found

    def of_codes(self, codes: Codes) -> FloatArray:
        """Codes as points."""
        points = np.empty((len(codes), self.width))
        at = 0
        for i, table in zip(self.axes, self.tables, strict=True):
            points[:, at : at + table.shape[1]] = table[codes[:, i]]
            at += table.shape[1]
        return points

    def distances(self, doubles: PlayedDoubles, target: Codes) -> FloatArray:
        """Squared Euclidean distance of every row from one row of codes, looked up where rows are codes."""
        if doubles.codes is None:
            gap = self.features(doubles) - self.of_codes(target[None, :])
            return np.asarray(np.einsum("ij,ij->i", gap, gap))
        total = np.zeros(doubles.rows)
        for i, table in zip(self.axes, self.tables, strict=True):
            codes = doubles.codes[:, i]
            if len(table) > len(codes):  # more codes than rows: look at those that occur
                gap = table[codes] - table[target[i]]
                total += np.einsum("ij,ij->i", gap, gap)
            else:
                gap = table - table[target[i]]
                total += np.einsum("ij,ij->i", gap, gap)[codes]
        return total

    def _expanded(self, doubles: PlayedDoubles) -> FloatArray:
        values, own = doubles.values, self.space.expansion
        assert values is not None
        if doubles.expansion == own:
            starts = np.cumsum([0, *self.widths])
            return np.concatenate([values[:, starts[i] : starts[i + 1]] for i in self.axes], axis=1)
        if doubles.expansion == "codes":
            raise UsageError("raw numbers of categories' codes have no one-hot features; make them with onehot")
        # the code of a category is Σ code · (one-hot), so means and covariances go over exactly
        parts, at = [], 0
        for i, column in enumerate(self.modelled):
            width = column_features(column, "onehot").shape[1]
            if i in self.axes:
                block = values[:, at : at + width]
                parts.append(block if column.axis is not None else block @ np.arange(column.size)[:, None])
            at += width
        return np.concatenate(parts, axis=1)


@lru_cache(maxsize=32)
def lens_of(same: SameTable, space: Space) -> Lens:
    """The lens of a table and a space, shared by all who look through it in a process."""
    return Lens(space, same.table)


def moments(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance, over n."""
    mean = points.mean(axis=0)
    centred = points - mean
    return mean, centred.T @ centred / len(points)


def column_features(column: Modelled, expansion: str) -> FloatArray:
    """The coordinates of every code of a column, unscaled."""
    axis = column.axis
    if axis is None:
        return np.eye(column.size) if expansion == "onehot" else np.arange(column.size, dtype=np.float64)[:, None]
    ends = np.append(axis.starts[1:], axis.high).astype(np.float64)
    whole = axis.n_values == axis.high - axis.low + 1
    values = axis.starts.astype(np.float64) if whole else (axis.starts + ends) / 2
    marks = axis.size - axis.n_values
    # a missing or special value lies in the middle of the axis, and says so in a coordinate of its own
    table = np.zeros((axis.size, 1 + marks))
    table[: axis.n_values, 0], table[axis.n_values :, 0] = values, float(axis.low + axis.high) / 2
    table[axis.n_values :, 1:] = np.eye(marks)
    return table


def _scaling(features: FloatArray, shares: FloatArray, scale: str) -> tuple[FloatArray, FloatArray]:
    """What is taken away from every coordinate and what it is divided by; constant coordinates are left as they are."""
    zeros, ones = np.zeros(features.shape[1]), np.ones(features.shape[1])
    if scale == "raw":
        return zeros, ones
    if scale == "minmax":
        seen = features[shares > 0]
        low, spread = seen.min(axis=0), np.ptp(seen, axis=0)
    else:
        low = zeros
        mean = shares @ features
        spread = np.sqrt(np.maximum(shares @ (features - mean) ** 2, 0.0))
    return low, np.where(spread > 1e-12, spread, ones)
