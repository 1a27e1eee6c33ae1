"""Whether gaps are where they were: rates, which gaps come together, and what gaps depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kagemusha.arrays import FloatArray
from kagemusha.quality.projectable import CodedTable, Projectable, compared, same_columns
from kagemusha.schema import Clique, Schema


@dataclass(frozen=True)
class GapDependence:
    """How a column's gaps depend on another column, on both sides."""

    column: str
    on: str
    real: float
    """Mean absolute difference of the gap rate given the other column from the overall rate."""
    synthetic: float
    error: float
    """Mean absolute difference of the two sides' gap rates given the other column, weighted by the real one."""


@dataclass(frozen=True)
class Missingness:
    """Gaps, real against synthetic; empty where no column allows them."""

    rates: dict[str, tuple[float, float]]
    dependence: list[GapDependence]
    pattern_distance: float | None
    """Total variation between the distributions of whole gap patterns; None for models or without gaps."""

    @property
    def worst(self) -> GapDependence | None:
        """The dependence that is kept worst."""
        return max(self.dependence, key=lambda d: d.error, default=None)


def compare_missingness(real: Projectable, synthetic: Projectable, schema: Schema) -> Missingness:
    """Everything about gaps that the two sides can tell."""
    same_columns(real, synthetic)
    domain = real.domain
    gaps = {c.name: c.missing_code for c in schema.modelled if c.missing_code is not None}
    rates = {
        clique[0]: (float(p[gaps[clique[0]]]), float(q[gaps[clique[0]]]))
        for clique, p, q in compared(real, synthetic, [(name,) for name in gaps])
    }
    occurring = [name for name in gaps if max(rates[name]) > 0]
    pairs: dict[Clique, list[tuple[str, str]]] = {}
    for name in occurring:
        for other in domain:
            if other != name:
                pairs.setdefault(domain.canonical((name, other)), []).append((name, other))
    dependence = []
    for clique, p, q in compared(real, synthetic, list(pairs)):
        for name, other in pairs[clique]:
            axis, code = clique.index(name), gaps[name]
            assert code is not None
            dependence.append(_dependence(name, other, np.moveaxis(p, axis, 0), np.moveaxis(q, axis, 0), code))
    pattern = None
    if occurring and isinstance(real, CodedTable) and isinstance(synthetic, CodedTable):
        pattern = _pattern_distance(real, synthetic, {n: gaps[n] for n in occurring})
    return Missingness(rates, dependence, pattern)


def _dependence(name: str, other: str, p: FloatArray, q: FloatArray, code: int) -> GapDependence:
    given_real, given_synthetic = _rates(p, code), _rates(q, code)
    weights = p.sum(axis=0)
    own = q.sum(axis=0)
    return GapDependence(
        name,
        other,
        real=float(weights @ np.abs(given_real - p[code].sum())),
        synthetic=float(own @ np.abs(given_synthetic - q[code].sum())),
        error=float(weights @ np.abs(given_real - given_synthetic)),
    )


def _rates(table: FloatArray, code: int) -> FloatArray:
    """Rate of gaps for each code of the other column; the overall rate where that code never occurs."""
    total = table.sum(axis=0)
    overall = np.full_like(total, table[code].sum())
    return np.asarray(np.divide(table[code], total, out=overall, where=total > 0))


def _pattern_distance(real: CodedTable, synthetic: CodedTable, gaps: dict[str, int | None]) -> float:
    patterns = [_patterns(table, gaps) for table in (real, synthetic)]
    _, where = np.unique(np.concatenate(patterns), axis=0, return_inverse=True)
    where = where.ravel()
    size = int(where.max()) + 1
    p = np.bincount(where[: real.rows], minlength=size) / real.rows
    q = np.bincount(where[real.rows :], minlength=size) / synthetic.rows
    return float(np.abs(p - q).sum() / 2)


def _patterns(table: CodedTable, gaps: dict[str, int | None]) -> NDArray[np.uint8]:
    marks = np.stack([table.column(name) == code for name, code in gaps.items()], axis=1)
    return np.packbits(marks, axis=1)
