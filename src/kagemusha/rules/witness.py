"""A combination of codes that hits no structural zero, found by trying; the proof that there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kagemusha.arrays import FloatArray, IntArray
from kagemusha.rules.structural_zeros import StructuralZeros
from kagemusha.schema.domain import Domain

MOST_STEPS = 200_000
"""Codes that are tried before the search is given up."""

A_LOOK = 500
"""What asking `fits` counts as."""


def witness(
    domain: Domain,
    names: Sequence[str],
    zeros: Sequence[StructuralZeros],
    shares: Mapping[str, FloatArray],
    rng: np.random.Generator,
    *,
    fits: Callable[[Mapping[str, int]], bool] | None = None,
) -> IntArray | None:
    """Codes of `names` that avoid every structural zero (and `fits`, if given), likely ones first.

    None if there are none. Columns are tried in turn, each code once; one is checked as soon as all its columns have a
    code. Raises `TimeoutError` if that takes too many steps to tell.
    """
    order = sorted(names, key=lambda name: -sum(name in zero.clique for zero in zeros))
    judged: list[list[StructuralZeros]] = []
    for at in range(len(order)):
        known = set(order[: at + 1])
        judged.append([w for w in zeros if set(w.clique) <= known and order[at] in w.clique])
    chosen: dict[str, int] = {}
    steps = [0]

    def search(at: int) -> bool:
        if at == len(order):
            steps[0] += A_LOOK * (fits is not None)
            return fits is None or fits(chosen)
        name = order[at]
        possible = np.ones(domain.size(name), dtype=np.bool_)
        for zero in judged[at]:
            index = tuple(slice(None) if n == name else chosen[n] for n in zero.clique)
            possible &= ~zero.impossible[index]
        codes = np.flatnonzero(possible)
        weight = np.maximum(shares[name][codes], 1e-9) if name in shares else np.ones(len(codes))
        for code in codes[np.argsort(-weight * rng.random(len(codes)), kind="stable")].tolist():
            steps[0] += 1
            if steps[0] > MOST_STEPS:
                raise TimeoutError
            chosen[name] = code
            if search(at + 1):
                return True
        chosen.pop(name, None)
        return False

    return np.array([chosen[name] for name in names], dtype=np.int64) if search(0) else None


def reached(names: set[str], zeros: Sequence[StructuralZeros]) -> list[StructuralZeros]:
    """The structural zeros that are tied to some columns, directly or through others."""
    found: list[StructuralZeros] = []
    rest = list(zeros)
    while near := [zero for zero in rest if names & set(zero.clique)]:
        found += near
        rest = [zero for zero in rest if zero not in near]
        names = names | {name for zero in near for name in zero.clique}
    return found
