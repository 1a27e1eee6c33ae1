"""A small model of many records is fitted to its end: a pass is cheap, and noise is too small to hide behind."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kagemusha.arrays import IntArray
from kagemusha.privacy.budget import Budget
from kagemusha.schema import Category, Schema
from kagemusha.sources.codes import CodesSource
from kagemusha.synthesizers.fit import fit
from kagemusha.synthesizers.kage import interaction_fit
from kagemusha.synthesizers.kage.constants import PASSES
from kagemusha.synthesizers.registry import create

SIZES = (7, 2, 3, 2, 9)


def many(rows: int) -> IntArray:
    """Five columns of which each follows two before it, some combinations being next to impossible."""
    rng = np.random.default_rng(3)
    columns = [rng.choice(7, rows, p=rng.dirichlet(np.ones(7)))]
    for size in SIZES[1:]:
        key = columns[int(rng.integers(0, len(columns)))] * 16 + columns[int(rng.integers(0, len(columns)))]
        shares = rng.dirichlet(np.full(size, 0.5), int(key.max()) + 1).cumsum(axis=1)
        columns.append((rng.random(rows)[:, None] > shares[key, :-1]).sum(axis=1))
    return np.column_stack(columns)


def test_a_small_model_of_many_records_is_fitted_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = many(1_000_000)
    names = [f"c{i}" for i in range(len(SIZES))]
    schema = Schema(
        [Category(n, categories=tuple(range(s)), out_of_domain="clip") for n, s in zip(names, SIZES, strict=True)]
    )
    source = CodesSource(schema, list(codes.T), remember=1 << 20)
    real = {}
    for a, b in combinations(range(len(SIZES)), 2):
        flat = codes[:, a] * SIZES[b] + codes[:, b]
        real[names[a], names[b]] = np.bincount(flat, minlength=SIZES[a] * SIZES[b]) / len(codes)
    errors = []
    for passes in (PASSES, (*PASSES[:2], 0)):
        monkeypatch.setattr(interaction_fit, "PASSES", passes)
        found = fit(create("kage"), source, Budget(10.0, 1e-9), schema=schema, simulation=0).generator
        errors.append(np.mean([np.abs(found.project(p).ravel() / found.total - t).sum() for p, t in real.items()]))
    assert errors[0] < min(0.7 * errors[1], 1e-4)
