"""What a model file holds beside its generator: measurements, interactions, scores, choices.

Written, and read with doubt. Whoever wrote the file may have put anything into it: what is read is held to the columns
of the model, or a DataError.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from kagemusha.arrays import IntArray
from kagemusha.errors import DataError
from kagemusha.generators.generator import Arrays, PairScores, Round
from kagemusha.marginals import NoisyMarginal
from kagemusha.queries.interactions import Interaction, NoisyInteraction
from kagemusha.schema.domain import Clique, Domain


def number(what: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from the file, within its range."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (math.isfinite(value) and low <= value <= high)
    ):
        raise DataError(f"{what} must be a finite number from {low:g} to {high:g}")
    return float(value)


def clique_of(domain: Domain, names: Any) -> Clique:
    """Distinct columns of the model, in its order."""
    listed = isinstance(names, list | tuple) and all(isinstance(name, str) and name in domain for name in names)
    if not listed or tuple(names) != domain.canonical(names):
        raise DataError("a set of columns is not one of the model's")
    return tuple(names)


def whole(what: str, values: np.ndarray[Any, Any], shape: tuple[int, ...], *, dtype: str = "<f8") -> Any:
    """An array of this shape and type whose values are all finite."""
    if values.shape != shape or values.dtype.str != dtype or not np.isfinite(values).all():
        raise DataError(f"{what} must have the shape {shape} and finite values")
    return values


def groups_of(what: str, values: np.ndarray[Any, Any], codes: int) -> IntArray:
    """The group of every code of a column, numbered from 0 without gaps."""
    group: IntArray = whole(what, values, (codes,), dtype="<i8")
    if codes and (group.min() < 0 or group.max() >= codes or len(np.unique(group)) != int(group.max()) + 1):
        raise DataError(f"{what} must number groups from 0 without gaps")
    return group


def write_measurements(measured: Sequence[NoisyMarginal]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    arrays = {f"measurement.{i}": m.values for i, m in enumerate(measured)}
    return [{"clique": list(m.clique), "sigma": m.sigma} for m in measured], arrays


def read_measurements(described: Any, arrays: Arrays, domain: Domain) -> tuple[NoisyMarginal, ...]:
    """What `write_measurements` described."""
    found = []
    for i, one in enumerate(described):
        clique, what = clique_of(domain, one["clique"]), f"measurement {i}"
        values = whole(what, arrays[f"measurement.{i}"], domain.shape(clique), dtype="<i8")
        found.append(NoisyMarginal(clique, values, number(f"sigma of {what}", one["sigma"], low=0)))
    return tuple(found)


def write_interactions(interactions: Sequence[NoisyInteraction]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    arrays: dict[str, Any] = {}
    for i, released in enumerate(interactions):
        arrays[f"interaction.{i}"] = released.values
        for axis, group in enumerate(released.query.groups):
            arrays[f"interaction.{i}.group.{axis}"] = group
    return [{"clique": list(r.query.clique), "sigma": r.sigma} for r in interactions], arrays


def read_interactions(described: Any, arrays: Arrays, domain: Domain) -> tuple[NoisyInteraction, ...]:
    """What `write_interactions` described."""
    found = []
    for i, one in enumerate(described):
        clique, what = clique_of(domain, one["clique"]), f"interaction {i}"
        groups = tuple(
            groups_of(f"groups of {what}", arrays[f"interaction.{i}.group.{axis}"], codes)
            for axis, codes in enumerate(domain.shape(clique))
        )
        query = Interaction(clique, groups)
        values = whole(what, arrays[f"interaction.{i}"], query.shape)
        found.append(NoisyInteraction(query, values, number(f"sigma of {what}", one["sigma"], low=0)))
    return tuple(found)


def write_scores(scores: PairScores | None, domain: Domain) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    if scores is None:
        return None, {}
    columns = list(scores.groups)
    arrays: dict[str, Any] = {"scores": scores.values, "scores.pairs": _axes(scores.pairs, domain)}
    arrays |= {f"scores.group.{i}": scores.groups[name] for i, name in enumerate(columns)}
    return {"sigma": scores.sigma, "columns": columns}, arrays


def read_scores(described: Any, arrays: Arrays, domain: Domain) -> PairScores | None:
    """What `write_scores` described."""
    if described is None:
        return None
    if "pairs" in described:  # as they were written before they became an array
        pairs = [clique_of(domain, pair) for pair in described["pairs"]]
    else:
        pairs = _cliques("pairs of the scores", arrays["scores.pairs"], domain)
    columns = [clique_of(domain, [name])[0] for name in described["columns"]]
    if not pairs:
        raise DataError("there are scores, but of no pair")
    return PairScores(
        pairs=tuple(pairs),
        values=whole("scores", arrays["scores"], (len(pairs),)),
        sigma=number("sigma of the scores", described["sigma"], low=0),
        groups={
            name: groups_of(f"groups of column {i}", arrays[f"scores.group.{i}"], domain.size(name))
            for i, name in enumerate(columns)
        },
    )


def write_ceilings(ceilings: Mapping[Clique, float], domain: Domain) -> dict[str, Any]:
    """The arrays that hold them; none for none."""
    if not ceilings:
        return {}
    return {"ceilings": np.array([*ceilings.values()], dtype="<f8"), "ceilings.cliques": _axes([*ceilings], domain)}


def read_ceilings(described: Any, arrays: Arrays, domain: Domain) -> dict[Clique, float]:
    """What `write_ceilings` wrote, or the list `described` that was written before they became arrays."""
    if described:
        return {clique_of(domain, clique): number("a ceiling", value, low=0) for clique, value in described}
    if "ceilings" not in arrays:
        return {}
    cliques = _cliques("sets of the ceilings", arrays["ceilings.cliques"], domain)
    values = whole("ceilings", arrays["ceilings"], (len(cliques),))
    return {clique: number("a ceiling", value, low=0) for clique, value in zip(cliques, values.tolist(), strict=True)}


def read_expected(described: Any) -> float | None:
    """The error that the method expected of itself."""
    return None if described is None else number("the expected error", described, low=0, high=2)


def _axes(cliques: Sequence[Clique], domain: Domain) -> IntArray:
    """One row per clique: positions of its columns, then −1."""
    rows = np.full((len(cliques), max(map(len, cliques), default=0)), -1, dtype=np.int64)
    for row, clique in zip(rows, cliques, strict=True):
        row[: len(clique)] = [domain.axis(name) for name in clique]
    return rows


def _cliques(what: str, rows: np.ndarray[Any, Any], domain: Domain) -> list[Clique]:
    """The cliques that `_axes` wrote; every one canonical."""
    if rows.ndim != 2 or rows.dtype.str != "<i8" or (rows.size and not -1 <= rows.min() <= rows.max() < len(domain)):
        raise DataError(f"{what} are not columns of the model")
    return [clique_of(domain, [domain.names[axis] for axis in row if axis >= 0]) for row in rows.tolist()]


def write_trace(trace: Sequence[Round]) -> list[dict[str, Any]]:
    """The rounds as JSON, which has no word for what is not a finite number."""
    return [
        {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in asdict(one).items()}
        for one in trace
    ]


def read_trace(described: Any, domain: Domain) -> tuple[Round, ...]:
    """What `write_trace` described."""
    known = [field.name for field in fields(Round) if field.name != "clique"]
    found = []
    for one in described:
        if not set(one) <= {"clique", *known}:
            raise DataError("a round says what no round says")
        given = [name for name in known if name in one]
        values: dict[str, Any] = {
            name: math.nan if one[name] is None else number(f"{name} of a round", one[name]) for name in given
        }
        values["cells"] = int(values.get("cells", 0))
        found.append(Round(clique_of(domain, one["clique"]), **values))
    return tuple(found)
