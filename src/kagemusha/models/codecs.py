"""Released interactions and pair scores as parts of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kagemusha.models.generator import Arrays, PairScores
from kagemusha.queries.interactions import Interaction, NoisyInteraction


def write_interactions(interactions: Sequence[NoisyInteraction]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    arrays: dict[str, Any] = {}
    for i, released in enumerate(interactions):
        arrays[f"interaction.{i}"] = released.values
        for axis, group in enumerate(released.query.groups):
            arrays[f"interaction.{i}.group.{axis}"] = group
    return [{"clique": list(r.query.clique), "sigma": r.sigma} for r in interactions], arrays


def read_interactions(described: Sequence[Mapping[str, Any]], arrays: Arrays) -> tuple[NoisyInteraction, ...]:
    """What `write_interactions` described."""
    found = []
    for i, one in enumerate(described):
        clique = tuple(map(str, one["clique"]))
        groups = tuple(arrays[f"interaction.{i}.group.{axis}"].astype(np.int64) for axis in range(len(clique)))
        found.append(NoisyInteraction(Interaction(clique, groups), arrays[f"interaction.{i}"], float(one["sigma"])))
    return tuple(found)


def write_scores(scores: PairScores | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """A JSON-able description and the arrays that go with it."""
    if scores is None:
        return None, {}
    columns = list(scores.groups)
    arrays: dict[str, Any] = {"scores": scores.values}
    arrays |= {f"scores.group.{i}": scores.groups[name] for i, name in enumerate(columns)}
    return {"pairs": [list(p) for p in scores.pairs], "sigma": scores.sigma, "columns": columns}, arrays


def read_scores(described: Mapping[str, Any] | None, arrays: Arrays) -> PairScores | None:
    """What `write_scores` described."""
    if described is None:
        return None
    return PairScores(
        pairs=tuple(tuple(map(str, pair)) for pair in described["pairs"]),
        values=arrays["scores"],
        sigma=float(described["sigma"]),
        groups={str(n): arrays[f"scores.group.{i}"].astype(np.int64) for i, n in enumerate(described["columns"])},
    )
